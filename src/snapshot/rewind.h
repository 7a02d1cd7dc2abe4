// SPDX-License-Identifier: Apache-2.0
// The state of a device at the end of a range: what the file says of its own end, with the events
// after the range undone.
//
//   a block is alive there when it is at the file's end and its address was not handed out after
//   the range, or when the first event at its address after the range frees it what an undone free
//   says is the requested size; its block gets it in steps of 512 bytes, up to what follows in the
//   segment
#pragma once

#include "snapshot/range_filter.h"

namespace strandline::snapshot {

void rewind_state(SnapshotFile& file, std::uint8_t device, const RangedTrace& trace);

/// Adds segment `s` with its blocks.
void copy_segment(const SegmentColumns& segments, const BlockColumns& blocks, std::size_t s,
                  SegmentColumns& to_segments, BlockColumns& to_blocks);

}  // namespace strandline::snapshot
