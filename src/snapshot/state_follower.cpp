// SPDX-License-Identifier: Apache-2.0
// One event after the other, by device and address.
#include "snapshot/state_follower.h"

#include "snapshot/lifetimes.h"
#include "snapshot/segment_assembly.h"

namespace strandline::snapshot {

using record::Action;
using record::BlockUse;

void StateFollower::begin_at(const SegmentColumns& segments, const BlockColumns& blocks) {
  for (std::size_t s = 0; s < segments.count(); ++s) segments_.add(segments.row(s));
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const BlockRow row = blocks.row(b);
    if (row.use != BlockUse::inactive) blocks_[Place(row.device, row.address)] = row;
  }
}

void StateFollower::assemble(Snapshot& snapshot) const {
  std::vector<BlockRow> blocks;
  for (const auto& [place, block] : blocks_) blocks.push_back(block);
  assemble_segments(snapshot, segments_.rows(), std::move(blocks));
}

void StateFollower::follow(const EventRow& event, std::uint64_t sequence) {
  const Place place(event.device, event.address);
  follow_segment(event);
  if (record::begins_block(event.action)) {
    blocks_[place] = block_of(event, sequence);
    return;
  }
  const auto block = blocks_.find(place);
  if (block == blocks_.end()) return;
  if (record::ends_block(event.action)) {
    blocks_.erase(block);
    return;
  }
  if (event.action == Action::free_requested) block->second.use = BlockUse::pending_free;
  if (event.action == Action::holder || event.action == Action::annotate) {
    describe(block->second, event);
  }
}

void StateFollower::follow_segment(const EventRow& event) {
  switch (event.action) {
    case Action::alloc_new:
    case Action::alloc_external:
    case Action::segment_alloc:
      segments_.add(segment_of(event));
      break;
    case Action::segment_map:
      segments_.map(segment_of(event));
      break;
    case Action::alloc_reuse:
    case Action::free_to_cache:
      segments_.add_if_absent(segment_of(event));
      break;
    case Action::free_to_device:
    case Action::release_external:
    case Action::cache_to_device:
    case Action::segment_free:
      segments_.remove(event.device, event.address);
      break;
    case Action::segment_unmap:
      segments_.unmap(event.device, event.address, event.size);
      break;
    default:
      break;
  }
}

void StateFollower::describe(BlockRow& block, const EventRow& event) {
  if (event.label) block.label = event.label;
  if (event.action == Action::annotate) return;
  block.stack = event.stack;
  block.forward = event.forward;
  block.op = event.op;
  block.layout = event.layout;
  block.view_bytes = event.size;
  block.view_offset = event.requested;
}

}  // namespace strandline::snapshot
