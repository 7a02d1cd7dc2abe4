// SPDX-License-Identifier: Apache-2.0
// One event after the other; how the state before the first is found stands in state_before.cpp.
#include "strandline/snapshot/state_replay.h"

#include <algorithm>
#include <iterator>

#include "snapshot/lifetimes.h"
#include "snapshot/segment_actions.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;

/// Files may name addresses up to the very end.
std::uint64_t end_of(std::uint64_t address, std::uint64_t size) noexcept {
  return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

}  // namespace

void StateReplay::step() {
  if (position_ >= trace_.count) return;
  apply(static_cast<std::size_t>(trace_.first + position_));
  ++position_;
}

void StateReplay::advance_to(std::uint64_t events) {
  while (position_ < std::min(events, trace_.count)) step();
}

void StateReplay::apply(std::size_t row) {
  const EventColumns& events = file_.snapshot.events;
  const Action action = events.action[row];
  const std::uint64_t address = events.address[row];
  const std::uint64_t size = events.size[row];
  const std::uint64_t requested = events.requested[row];
  if (obtains_segment(action)) add_span(row);
  if (record::begins_block(action)) {
    const std::uint32_t* kept = kept_.find(row + 1);
    const std::uint32_t number = kept == nullptr ? 0 : *kept;
    const std::uint64_t known = number != 0        ? file_.snapshot.blocks.size[number - 1]
                                : size > requested ? size
                                                   : 0;
    add_block(address, {.requested = requested, .event = row + 1, .file_block = number}, known);
  } else if (action == Action::free_requested) {
    const auto block = blocks_.find(address);
    if (block != blocks_.end()) block->second.use = BlockUse::pending_free;
  } else if (record::ends_block(action)) {
    free_block(address);
  }
  if (returns_segment(action)) remove_span(address, size);
}

/// The span an event is about, as a segment with all that is known of it.
void StateReplay::add_span(std::size_t row) {
  const EventColumns& events = file_.snapshot.events;
  const Action action = events.action[row];
  const std::uint64_t address = events.address[row];
  const bool is_range = action == Action::segment_map || action == Action::segment_unmap;
  ReplaySegment segment{.size = events.size[row],
                        .place = {.stream = events.stream[row],
                                  .pool = events.pool[row],
                                  .is_small = !record::is_whole_buffer(action) &&
                                              events.size[row] <= SizeRules::segment_bytes(1)},
                        .stack = events.stack[row],
                        .is_expandable = is_range};
  auto known = at_end_.upper_bound(address);
  if (known != at_end_.begin()) {
    --known;
    const ReplaySegment& same = known->second;
    if (address - known->first < same.size && same.place.stream == segment.place.stream &&
        same.place.pool == segment.place.pool) {
      segment.place.is_small = same.place.is_small;
    }
  }
  add_segment(address, segment);
}

StateTotals StateReplay::totals() const noexcept {
  StateTotals totals = totals_;
  totals.holes = holes_.size();
  totals.largest_hole = all_holes_.empty() ? 0 : all_holes_.rbegin()->first;
  return totals;
}

StateReplay::Segments::iterator StateReplay::segment_at(std::uint64_t address) {
  auto segment = segments_.upper_bound(address);
  if (segment == segments_.begin()) return segments_.end();
  --segment;
  return address - segment->first < segment->second.size ? segment : segments_.end();
}

void StateReplay::add_segment(std::uint64_t address, ReplaySegment segment) {
  if (segment.size == 0) return;
  const std::uint64_t end = end_of(address, segment.size);
  segment.size = end - address;
  const auto next = segments_.lower_bound(address);
  if (segment_at(address) != segments_.end() || (next != segments_.end() && next->first < end)) {
    ++facts_.segment_conflicts;
    remove_span(address, segment.size);
  }
  totals_.reserved += segment.size;
  std::uint64_t start = address;
  // Holes are counted by the class of their segment: a range that was there keeps its own.
  const auto joins = [&](const ReplaySegment& other) {
    return segment.is_expandable && other.is_expandable &&
           other.place.stream == segment.place.stream && other.place.pool == segment.place.pool;
  };
  auto before = segments_.lower_bound(address);
  if (before != segments_.begin()) {
    --before;
    if (before->first + before->second.size == address && joins(before->second)) {
      start = before->first;
      segment.size += before->second.size;
      segment.place = before->second.place;
      segments_.erase(before);
    }
  }
  const auto after = segments_.lower_bound(address);
  if (after != segments_.end() && after->first == end && joins(after->second) &&
      (start == address || after->second.place == segment.place)) {
    segment.size += after->second.size;
    segment.place = after->second.place;
    segments_.erase(after);
  }
  segments_[start] = segment;
  free_between_blocks(address, end);
}

/// Blocks whose segment is known only now lie inside from now on; what is between them is free.
void StateReplay::free_between_blocks(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = begin;
  auto block = blocks_.lower_bound(begin);
  for (; block != blocks_.end() && block->first < end; ++block) {
    if (block->second.inside) continue;
    if (block->first < at) continue;  // in the one before: it stays outside
    if (block->first > at) add_hole(at, block->first - at);
    block->second.inside = true;
    block->second.size = std::min(block->second.size, end - block->first);
    totals_.outside -= block->second.requested;
    totals_.live += block->second.size;
    at = block->first + block->second.size;
  }
  if (at < end) add_hole(at, end - at);
}

void StateReplay::remove_span(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = end_of(address, size);
  bool found = false;
  for (;;) {
    auto segment = segment_at(address);
    if (segment == segments_.end()) segment = segments_.lower_bound(address);
    if (segment == segments_.end() || segment->first >= end) break;
    found = true;
    const std::uint64_t start = segment->first;
    const std::uint64_t segment_end = start + segment->second.size;
    const std::uint64_t low = std::max(start, address);
    const std::uint64_t high = std::min(segment_end, end);
    make_room(low, high - low);
    take(low, high - low);
    totals_.reserved -= high - low;
    const ReplaySegment whole = segment->second;
    segments_.erase(segment);
    const auto keep = [&](std::uint64_t from, std::uint64_t to) {
      if (from >= to) return;
      segments_[from] = whole;
      segments_[from].size = to - from;
    };
    keep(start, low);
    keep(high, segment_end);
  }
  if (!found) ++facts_.segment_conflicts;
}

void StateReplay::put_hole(std::uint64_t address, std::uint64_t size) {
  holes_[address] = size;
  HoleSizes& sizes = hole_sizes_[segment_at(address)->second.place];
  ++sizes.counts[size];
  sizes.bytes += size;
  ++all_holes_[size];
  totals_.free += size;
}

void StateReplay::erase_hole(std::map<std::uint64_t, std::uint64_t>::iterator hole) {
  const std::uint64_t size = hole->second;
  HoleSizes& sizes = hole_sizes_[segment_at(hole->first)->second.place];
  const auto count = sizes.counts.find(size);
  if (--count->second == 0) sizes.counts.erase(count);
  sizes.bytes -= size;
  const auto all = all_holes_.find(size);
  if (--all->second == 0) all_holes_.erase(all);
  totals_.free -= size;
  holes_.erase(hole);
}

/// Joins the holes beside it in the same segment.
void StateReplay::add_hole(std::uint64_t address, std::uint64_t size) {
  if (size == 0) return;
  const auto segment = segment_at(address);
  std::uint64_t begin = address;
  std::uint64_t end = address + size;
  const auto after = holes_.find(end);
  if (after != holes_.end() && end - segment->first < segment->second.size) {
    end += after->second;
    erase_hole(after);
  }
  auto before = holes_.lower_bound(address);
  if (before != holes_.begin()) {
    --before;
    if (before->first >= segment->first && before->first + before->second == address) {
      begin = before->first;
      erase_hole(before);
    }
  }
  put_hole(begin, end - begin);
}

/// Makes what is free of a span no longer so.
void StateReplay::take(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = end_of(address, size);
  auto hole = holes_.upper_bound(address);
  if (hole != holes_.begin()) --hole;
  while (hole != holes_.end() && hole->first < end) {
    const std::uint64_t from = hole->first;
    const std::uint64_t to = from + hole->second;
    const auto next = std::next(hole);
    if (to > address) {
      erase_hole(hole);
      if (from < address) put_hole(from, address - from);
      if (to > end) put_hole(end, to - end);
    }
    hole = next;
  }
}

void StateReplay::add_block(std::uint64_t address, ReplayBlock block, std::uint64_t known_size) {
  const auto open = blocks_.find(address);
  if (open != blocks_.end()) {
    ++facts_.lost_blocks;
    drop_block(open);
  }
  const auto segment = segment_at(address);
  totals_.requested += block.requested;
  if (segment == segments_.end()) {
    block.size = known_size != 0 ? known_size : rules_.rounded(block.requested);
    block.inside = false;
    totals_.outside += block.requested;
    blocks_[address] = block;
    return;
  }
  const std::uint64_t to_end = segment->second.size - (address - segment->first);
  make_room(address, std::clamp<std::uint64_t>(block.requested, 1, to_end));
  auto hole = holes_.upper_bound(address);
  --hole;  // there is one: room was made
  const std::uint64_t room = hole->first + hole->second - address;
  block.size = known_size != 0 ? std::min(known_size, room)
                               : rules_.taken(block.requested, room, segment->second);
  block.inside = true;
  take(address, block.size);
  totals_.live += block.size;
  blocks_[address] = block;
}

/// Nothing lives in a span any more. What a block from before it took beyond its request was a
/// guess: that is given back; what else reaches into the span is lost.
void StateReplay::make_room(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = end_of(address, size);
  auto block = blocks_.lower_bound(address);
  auto before = block;
  while (before != blocks_.begin()) {
    --before;
    if (!before->second.inside && segment_at(before->first) == segments_.end()) break;
    if (!before->second.inside) continue;
    const std::uint64_t block_end = before->first + before->second.size;
    if (block_end <= address) break;
    if (end_of(before->first, before->second.requested) <= address) {
      before->second.size = address - before->first;
      totals_.live -= block_end - address;
      add_hole(address, block_end - address);
    } else {
      ++facts_.lost_blocks;
      drop_block(before);
    }
    break;
  }
  block = blocks_.lower_bound(address);
  while (block != blocks_.end() && block->first < end) {
    const auto next = std::next(block);
    if (block->second.inside) {
      ++facts_.lost_blocks;
      drop_block(block);
    }
    block = next;
  }
}

void StateReplay::drop_block(Blocks::iterator block) {
  const std::uint64_t address = block->first;
  const ReplayBlock dropped = block->second;
  blocks_.erase(block);
  totals_.requested -= dropped.requested;
  if (dropped.inside) {
    totals_.live -= dropped.size;
    add_hole(address, dropped.size);
  } else {
    totals_.outside -= dropped.requested;
  }
}

void StateReplay::free_block(std::uint64_t address) {
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) {
    ++facts_.unknown_frees;
    return;
  }
  drop_block(block);
}

BlockRow StateReplay::row_of(std::uint64_t address, const ReplayBlock& block) const {
  BlockRow row{.device = device_};
  if (block.file_block != 0) {
    row = file_.snapshot.blocks.row(block.file_block - 1);
  } else if (block.event != 0) {
    const auto event = static_cast<std::size_t>(block.event - 1);
    row = block_of(file_.snapshot.events.row(event), block.event);
  }
  row.address = address;
  row.size = block.size;
  row.requested = block.requested;
  row.use = block.use;
  return row;
}

}  // namespace strandline::snapshot
