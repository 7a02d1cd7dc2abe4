// SPDX-License-Identifier: Apache-2.0
// The state that events leave behind, as far as they tell of it: what was handed out and not freed
// is live, what was freed to a cache and not returned is cached, segments are what was obtained and
// not returned. For records whose state at the end nobody took.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "snapshot/segment_set.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

class StateFollower {
 public:
  /// Starts from a state instead of nothing.
  void begin_at(const SegmentColumns& segments, const BlockColumns& blocks);
  /// Applies an event; `sequence` is its number.
  void follow(const EventRow& event, std::uint64_t sequence);
  /// Fills `snapshot.segments` and `snapshot.blocks`, which must be empty. A block that lies in no
  /// known segment gets one of its own.
  void assemble(Snapshot& snapshot) const;

 private:
  using Place = std::pair<std::uint8_t, std::uint64_t>;  // device, address

  void follow_segment(const EventRow& event);
  static void describe(BlockRow& block, const EventRow& event);

  SegmentSet segments_;
  std::map<Place, BlockRow> blocks_;
};

}  // namespace strandline::snapshot
