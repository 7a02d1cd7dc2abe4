// SPDX-License-Identifier: Apache-2.0
// What is known of a block only later, or only from its end, brought to the events of its life.
#pragma once

#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// The block that an alloc begins; `sequence` is the event's number.
BlockRow block_of(const EventRow& event, std::uint64_t sequence);

/// A label given by `annotate` counts for the block's whole life: its alloc and free events get it.
/// Fills `holder_requested`. Needs complete blocks.
void complete_lifetimes(Snapshot& snapshot);

}  // namespace strandline::snapshot
