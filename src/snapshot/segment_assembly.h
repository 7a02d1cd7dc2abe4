// SPDX-License-Identifier: Apache-2.0
// Segments and blocks put together so that every equation holds: blocks lie in segments, touch, do
// not overlap, and add up. What lies between blocks becomes an inactive block; a block outside of
// every segment gets a segment of its own.
#pragma once

#include <vector>

#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// Fills `snapshot.segments` and `snapshot.blocks`, by device and address. Of two blocks or two
/// segments that overlap the one named first stays.
void assemble_segments(Snapshot& snapshot, std::vector<SegmentRow> segments,
                       std::vector<BlockRow> blocks);

/// Cached whole buffers as the events tell them: freed to the cache and neither handed out nor
/// returned since. Those that overlap a segment in `known` are left out.
std::vector<SegmentRow> cached_by_events(const EventColumns& events,
                                         const std::vector<SegmentRow>& known);

}  // namespace strandline::snapshot
