// SPDX-License-Identifier: Apache-2.0
// Any text: it is a filter, and then written out it is the same one and matches the same rows, or
// InvalidArgument. Nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "strandline/core/error.h"
#include "strandline/snapshot/row_filter.h"

namespace {

using namespace strandline::snapshot;

/// Two devices, a phase, stacks, texts: something for every field.
SnapshotFile small_file() {
  SnapshotFile file;
  Snapshot& snapshot = file.snapshot;
  const StringId train = snapshot.strings.intern("/home/u/train.py");
  const StringId step = snapshot.strings.intern("step");
  const StackId stack = snapshot.stacks.child({}, snapshot.frames.intern(train, step, 88));
  snapshot.streams.emplace_back(7, 0);
  snapshot.pools.emplace_back(0, 1);
  for (std::uint8_t device = 0; device < 2; ++device) {
    file.traces.push_back({snapshot.events.count(), 2});
    snapshot.events.push_back({.address = 512,
                               .size = 1000,
                               .requested = 1000,
                               .time_us = 10,
                               .stack = stack,
                               .op = step,
                               .label = train,
                               .stream = strandline::StreamId{1},
                               .device = device,
                               .action = strandline::record::Action::alloc});
    snapshot.events.push_back({.time_us = 20,
                               .pool = strandline::PoolId{1},
                               .device = device,
                               .action = strandline::record::Action::oom});
  }
  file.annotations.push_back({step, Stage::start, 0, 5});
  file.annotations.push_back({step, Stage::end, 0, 15});
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SnapshotFile file = small_file();
  try {
    const RowFilter filter = RowFilter::parse({reinterpret_cast<const char*>(data), size});
    const RowFilter again = RowFilter::parse(filter.text());
    if (again.text() != filter.text()) std::abort();
    const FilterMatcher first(filter, file);
    const FilterMatcher second(again, file);
    for (std::size_t row = 0; row < file.snapshot.events.count(); ++row) {
      if (first.event(row) != second.event(row)) std::abort();
    }
  } catch (const strandline::InvalidArgument&) {
    return 0;
  }
  return 0;
}
