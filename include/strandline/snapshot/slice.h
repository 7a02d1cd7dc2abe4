// SPDX-License-Identifier: Apache-2.0
// A smaller snapshot of a part of a trace, valid on its own: its segments and blocks are those
// after the last event kept, so that its curve begins at the level the whole one has there.
//
//   level of the slice before its event i = level of the whole before event first + i
//   Σ block size = segment size in every segment; blocks from before the part have no alloc
//
// Annotations that reach into the part are kept; one that ends after it is left open. Pinned host
// memory has a history of its own and is left out. Plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"
#include "strandline/snapshot/state_replay.h"

namespace strandline::snapshot {

/// Which events to keep of each device's trace: first to one before `end`. Ends past the trace are
/// cut; what is not set reaches to the trace's own. Events and times may be combined: both must
/// hold.
struct SliceRange {
  std::optional<std::uint64_t> first_event{};
  std::optional<std::uint64_t> end_event{};
  std::optional<std::int64_t> first_us{};  ///< Unix microseconds
  std::optional<std::int64_t> end_us{};
  std::optional<std::uint8_t> device{};  ///< the others are left out
};

struct SliceDevice {
  std::uint8_t device = 0;
  RowRange kept{};              ///< of the whole file's trace, counted from its first event
  std::uint64_t of_events = 0;  ///< in the whole trace
  ReplayFacts facts{};
};

struct Slice {
  SnapshotFile file;
  std::vector<SliceDevice> devices{};  ///< those with segments or events
  std::uint64_t host_events_left = 0;  ///< left out
  std::uint64_t host_segments_left = 0;
};

/// Throws InvalidArgument for a range that ends before it begins. `file` is used up.
STRANDLINE_API Slice make_slice(SnapshotFile file, const SliceRange& range);

/// What was kept, by schema/slice.schema.json.
STRANDLINE_API std::string slice_json(const Slice& slice, const std::string& file,
                                      const std::string& output);
STRANDLINE_API std::string slice_text(const Slice& slice, const std::string& file,
                                      const std::string& output);

}  // namespace strandline::snapshot
