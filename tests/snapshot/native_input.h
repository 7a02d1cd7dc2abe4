// SPDX-License-Identifier: Apache-2.0
// Any bytes as a native file: what the fuzz target tries, and the tests on what it has found.
// Checksums would keep what is changed from being read at all, so the input is taken for chunks
// without heads, which get right ones:
//
//   first byte 0   the rest is a file as it is
//   otherwise      chunk… of kind (8 bits), flags (8), events (16), bytes (24), payload
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "snapshot/native_chunks.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/pickle_writer.h"

namespace strandline::snapshot {

inline std::string with_heads(std::string_view input) {
  std::string bytes;
  StringOutput output(bytes);
  native::ChunkWriter chunks(output, 1);
  chunks.write_file_head();
  std::uint64_t sequence = 1;
  while (input.size() >= 7) {
    const auto kind = static_cast<native::ChunkKind>(native::get<std::uint8_t>(input, 0));
    const auto flags = native::get<std::uint8_t>(input, 1);
    const auto events = native::get<std::uint16_t>(input, 2);
    const std::size_t size = native::get<std::uint16_t>(input, 4) +
                             (std::size_t{native::get<std::uint8_t>(input, 6)} << 16);
    input.remove_prefix(7);
    const std::string_view payload = input.substr(0, std::min(size, input.size()));
    input.remove_prefix(payload.size());
    chunks.write(kind, flags, payload, {.first_sequence = sequence, .events = events});
    sequence += events;
  }
  return bytes;
}

/// Half of the files, by their size, are also asked what costs time.
inline void ask(std::string_view bytes) {
  SnapshotFile file = read_snapshot_bytes(bytes);
  if (bytes.size() % 2 == 0) {
    (void)account_json(make_account(file), "file");
    (void)file_report_json(make_file_report(file), "file");
    (void)pickle_bytes(file.snapshot);
  }
  // What was read can be written, and is then read as the same.
  const SnapshotFile again = read_snapshot_bytes(native_bytes(file));
  if (again.snapshot.events.count() != file.snapshot.events.count() ||
      again.snapshot.blocks.count() != file.snapshot.blocks.count()) {
    std::abort();
  }
}
/// It is a native file of which everything can be asked, or a FormatError. Nothing else may happen.
inline void try_native(std::string_view input) {
  if (input.empty()) return;
  const bool is_whole = input.front() == '\0';
  input.remove_prefix(1);
  try {
    // Anything that is no native file is the pickle's, which has a target of its own.
    const std::string file = is_whole ? std::string(input) : with_heads(input);
    if (is_native(file)) ask(file);
  } catch (const FormatError&) {
    return;
  }
}

}  // namespace strandline::snapshot
