// SPDX-License-Identifier: Apache-2.0
// Any bytes: they are a snapshot whose books can be kept and whose report can be made, or a
// FormatError. Nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/fragmentation.h"
#include "strandline/snapshot/leaks.h"
#include "strandline/snapshot/out_of_memory.h"
#include "strandline/snapshot/pickle_writer.h"
#include "strandline/snapshot/profile_export.h"
#include "strandline/snapshot/slice.h"

namespace {

using namespace strandline::snapshot;

/// One kind of answer, since all of them for each input would leave time for few inputs.
void use(SnapshotFile& file, std::size_t kind) {
  switch (kind % 4) {
    case 0: {
      (void)account_json(make_account(file), "file");
      (void)account_text(make_account(file), "file");
      const std::vector<DeviceReport> reports = make_file_report(file);
      (void)file_report_text(reports, "file");
      (void)file_report_json(reports, "file");
      break;
    }
    case 1:
      for (const DeviceReport& report : make_file_report(file)) {
        (void)find_leaks(file, report.device);
      }
      (void)fragmentation_text(make_fragmentation(file), "file", 10);
      (void)out_of_memory_text(explain_out_of_memory(file), "file", 10);
      break;
    case 2:
      (void)profile_bytes(file);
      (void)pickle_bytes(file.snapshot);
      (void)pickle_bytes(file);
      break;
    default: {
      const std::uint64_t half = file.snapshot.events.count() / 2;
      (void)pickle_bytes(make_slice(file, {.first_event = half / 2, .end_event = half}).file);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    SnapshotFile file = read_snapshot_bytes(bytes);
    use(file, size);
    // A part of the same.
    const std::uint64_t first = size / 4 % 8;
    SnapshotFile part = read_snapshot_bytes(bytes, {.first_event = first, .end_event = first + 3});
    use(part, size);
  } catch (const strandline::FormatError&) {
    return 0;
  }
  return 0;
}
