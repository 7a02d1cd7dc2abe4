// SPDX-License-Identifier: Apache-2.0
// Taking blocks from the indexes and putting them back: the hot path.
#include "alloc/segment/segment_core.h"

#include <new>

#include "strandline/core/error.h"

namespace strandline::alloc {

// -- taking ---------------------------------------------------------------------------------------

Block* SegmentCore::do_take(const Request& request) noexcept {
  if (request.bytes > SizeRules::kMostBytes && !is_on(Fault::D16_sizes_wrap)) [[unlikely]] {
    return nullptr;
  }
  const std::uint64_t size = rules_.rounded(request.bytes);
  return take_from(half_for(request.pool, size), size, request);
}

HalfPool& SegmentCore::half_for(PoolId pool, std::uint64_t size) noexcept {
  const bool is_small = SizeRules::is_small(size);
  if (pool) [[unlikely]] {
    if (PrivatePool* known = pools_.find(pool)) return known->halves.half(is_small);
  }
  return pools_.default_pool().half(is_small);
}

SegmentBlock* SegmentCore::take_from(HalfPool& half, std::uint64_t size,
                                     const Request& request) noexcept {
  if (parked_ != nullptr) {
    if (size == placed_size_ && placed_half_ == &half && placed_stream_ == request.stream &&
        request.alignment <= SizeRules::kUnit) [[likely]] {
      return take_parked(request);
    }
  }
  unpark();
  if (collects_garbage()) [[unlikely]] {
    ++half.searches;
  }
  StreamIndex* index = half.find(request.stream);
  if (index == nullptr) return nullptr;
  // A cut needs a record, an alignment another; without memory for them there is no block.
  if (!table_.has_unused(2)) [[unlikely]] {
    try {
      table_.reserve_unused(2);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  SegmentBlock* block = nullptr;
  if (request.alignment > SizeRules::kUnit) [[unlikely]] {
    block = find_aligned(half, *index, size, request.alignment);
  } else {
    block = index->fit.find(size);
    if (block != nullptr && !rules_.may_serve(block->size, size)) [[unlikely]] {
      block = nullptr;
    }
  }
  if (block == nullptr) return nullptr;
  BestFit::expect_erase(*block);
  table_.expect(block->address);
  BlockList::expect_neighbours(*block);
  index->fit.expect_insert(block->size - size);
  index->fit.erase(*block);
  place(*block, size, *index, request);
  return block;
}

// The best fit where it happens to be aligned; else one with so much room that a part of it is,
// whose start becomes a block of its own.
SegmentBlock* SegmentCore::find_aligned(HalfPool& half, StreamIndex& index, std::uint64_t size,
                                        std::uint64_t alignment) noexcept {
  SegmentBlock* block = index.fit.find(size);
  if (block == nullptr || !rules_.may_serve(block->size, size)) return nullptr;
  if (block->address % alignment == 0) return block;
  block = index.fit.find(size + alignment - SizeRules::kUnit);
  if (block == nullptr || !rules_.may_serve(block->size, size)) return nullptr;
  const std::uint64_t skipped = (alignment - block->address % alignment) % alignment;
  if (skipped == 0) return block;
  const bool is_whole = half.owner != nullptr && half.owner->options.no_split;
  if (is_whole || rules_.is_oversize(block->size)) return nullptr;
  // Both parts are free and the upper one is about to be handed out.
  const bool was_part = block->is_part();
  auto& rest = static_cast<SegmentBlock&>(table_.add_unlisted(block->address + skipped));
  index.fit.erase(*block);
  BlockList::cut(*block, skipped, rest);
  rest.requested = block->requested;
  insert(*block, index);
  insert(rest, index);
  accounts_.change(half.kind, Count::inactive_split, was_part ? 1 : 2);
  accounts_.change(half.kind, Count::inactive_split_bytes,
                   was_part ? 0 : static_cast<std::int64_t>(block->size + rest.size));
  return &rest;
}

bool SegmentCore::cuts(const HalfPool& half, std::uint64_t size,
                       std::uint64_t left) const noexcept {
  if (half.owner != nullptr && half.owner->options.no_split) return false;
  return rules_.cuts(size, left, half.is_small());
}

void SegmentCore::place(SegmentBlock& block, std::uint64_t size, StreamIndex& index,
                        const Request& request) noexcept {
  const HalfPool& half = *index.half;
  const Accounts::Pool kind = half.kind;
  const bool was_part = block.is_part();
  if (block.size != size && cuts(half, size, block.size - size)) {
    auto& rest = static_cast<SegmentBlock&>(table_.add_unlisted(0));
    BlockList::cut(block, size, rest);
    rest.requested = block.requested;
    insert(rest, index);
    if (was_part) {
      accounts_.subtract(kind, Count::inactive_split_bytes, size);
    } else {
      accounts_.add(kind, Count::inactive_split_bytes, rest.size);
      accounts_.add(kind, Count::inactive_split, 1);
    }
  } else if (was_part) {
    accounts_.subtract(kind, Count::inactive_split_bytes, block.size);
    accounts_.subtract(kind, Count::inactive_split, 1);
  }
  list(block);
  note_placed(block, kind, request);
  block.is_oversize = rules_.is_oversize(block.size);
  if (block.is_oversize) [[unlikely]] {
    oversize_allocations_.add(1);
    placed_ = nullptr;
  } else {
    placed_ = request.alignment > SizeRules::kUnit ? nullptr : &block;
    placed_size_ = size;
    placed_half_ = &half;
    placed_stream_ = block.stream;
  }
}

// -- parking --------------------------------------------------------------------------------------
//
// A block that is freed when nothing has changed since it was handed out would be joined and found
// again by the next request of its size, since the indexes are then what they were. So it waits as
// it is: parked, free, in no index, its upper neighbour not joined, and in accounts_ as if it were
// handed out. Taken again it is counted as one repeat. Whatever looks at blocks, indexes or
// accounts unparks it first, so that nobody sees a difference.
//
//   invariants  parked_ = placed_ or null; repeats_ = 0 where placed_ is null

// As often as it was repeated, the block was joined with what is free above it and cut off again.
void SegmentCore::settle_repeats() noexcept {
  const std::uint64_t times = std::exchange(repeats_, 0);
  const SegmentBlock& block = *placed_;
  const Accounts::Pool kind = kind_of(block);
  accounts_.repeat(kind, Count::allocation, 1, times);
  accounts_.repeat(kind, Count::allocated_bytes, block.size, times);
  accounts_.repeat(kind, Count::active, 1, times);
  accounts_.repeat(kind, Count::active_bytes, block.size, times);
  accounts_.repeat(kind, Count::requested_bytes, block.requested, times);
  SegmentBlock* upper = block.following();
  const bool joins = BlockList::is_free(upper);  // and no lower one, see place
  const bool is_part =
      block.previous != nullptr || (joins ? upper->next != nullptr : upper != nullptr);
  const std::int64_t parts = (is_part ? 1 : 0) - (joins ? 1 : 0);
  const std::uint64_t joined_bytes = joins ? upper->size : 0;
  accounts_.swing(kind, Count::inactive_split, parts, times);
  accounts_.swing(
      kind, Count::inactive_split_bytes,
      is_part ? static_cast<std::int64_t>(block.size) : -static_cast<std::int64_t>(joined_bytes),
      times);
  if (joins) upper->requested = block.requested;  // what is left of a block remembers the last
}

void SegmentCore::unpark_block() noexcept {
  SegmentBlock& block = *std::exchange(parked_, nullptr);
  book_end_allocated(block, kind_of(block));
  book_end_active(block, kind_of(block));
  (void)rejoin(block);
}

void SegmentCore::list(SegmentBlock& block) noexcept {
  if (block.is_listed) return;
  Block* stale = table_.list(block);
  if (stale == nullptr) return;
  // Wrapped memory that its owner freed without releasing it; the device gave us the bytes since.
  stale->is_listed = false;
  drop(*stale);
}

void SegmentCore::insert(SegmentBlock& block, StreamIndex& index) noexcept {
  placed_ = nullptr;  // from now on the indexes are others
  block.use = BlockUse::kept;
  block.age_start = index.half->searches;
  index.fit.insert(block);
}

// -- putting --------------------------------------------------------------------------------------

bool SegmentCore::do_put(Block& block, Departures& out) noexcept {
  auto& freed = static_cast<SegmentBlock&>(block);
  if (&freed == placed_ && parks()) [[likely]] {
    park(freed);
    return true;
  }
  BlockList::expect_neighbours(freed);
  end_allocated(freed);
  return complete(freed, out);
}

bool SegmentCore::complete(SegmentBlock& block, Departures& out) noexcept {
  unpark();
  end_active(block);
  const SegmentBlock& whole = rejoin(block);
  if (whole.is_part() || staying_bytes() - active_bytes() <= limits_.cache_bytes) [[likely]] {
    return true;
  }
  return do_trim(out);
}

SegmentBlock& SegmentCore::rejoin(SegmentBlock& block) noexcept {
  StreamIndex& index = *block.segment->index;
  const Accounts::Pool kind = kind_of(block);
  block.use = BlockUse::kept;
  SegmentBlock* whole = &block;
  std::int64_t parts = 0;
  std::int64_t part_bytes = 0;
  SegmentBlock* const lower = block.preceding();
  if (SegmentBlock* upper = block.following(); BlockList::is_free(upper)) {
    BestFit::expect_erase(*upper);
    table_.expect(upper->address);
  }
  if (BlockList::is_free(lower)) {
    BestFit::expect_erase(*lower);
    index.fit.erase(*lower);
    --parts;
    part_bytes -= static_cast<std::int64_t>(lower->size);
    BlockList::join_next(*lower);
    lower->requested = block.requested;
    table_.remove(block);
    whole = lower;
  }
  if (SegmentBlock* upper = whole->following(); BlockList::is_free(upper)) {
    index.fit.erase(*upper);
    --parts;
    part_bytes -= static_cast<std::int64_t>(upper->size);
    BlockList::join_next(*whole);
    table_.remove(*upper);
  }
  whole->freed_at = ++free_clock_;
  insert(*whole, index);
  if (whole->is_part()) {
    ++parts;
    part_bytes += static_cast<std::int64_t>(whole->size);
  }
  if (parts != 0) accounts_.change(kind, Count::inactive_split, parts);
  if (part_bytes != 0) accounts_.change(kind, Count::inactive_split_bytes, part_bytes);
  return *whole;
}

// -- around the calls -----------------------------------------------------------------------------

void SegmentCore::do_prepare(Request& request) {
  if (attends(kScopesOpen)) request.pool = routes_.route(request.stream);
  // PyTorch asks at each malloc; we do when there is no block.
  if (is_pytorch_ && attends(kUsesPending)) (void)poll();
}

void SegmentCore::do_settle() noexcept {
  if (!attends(kTraced)) return;
  try {
    std::vector<TraceEntry> entries;
    {
      const StateGuard guard(lock_);
      entries.swap(trace_);
    }
    for (const TraceEntry& entry : entries) {
      callbacks_.for_each<TraceTracker>([&](const TraceTracker& tracker) { tracker(entry); });
    }
  } catch (...) {  // a tracker's own: frees never throw
  }
}

void SegmentCore::keep_trace(const TraceEntry& entry) noexcept {
  try {
    trace_.push_back(entry);
  } catch (const std::bad_alloc&) {  // the entry is lost, not the program
  }
}

PoolId SegmentCore::do_pool(const Block& block) const noexcept {
  if (block.kind != BlockKind::slot && block.kind != BlockKind::region) return {};
  return pool_of(static_cast<const SegmentBlock&>(block));
}

}  // namespace strandline::alloc
