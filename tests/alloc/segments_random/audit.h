// SPDX-License-Identifier: Apache-2.0
// The allocator's whole state against the books: segments block by block, which frees are still
// pending, every statistic that follows from them; after an out of memory, whether there was none.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/segments_random/ledger.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc::segments_random {

/// Sums over segments().
struct Found {
  StatByPool segment;
  StatByPool reserved_bytes;
  StatByPool active;
  StatByPool active_bytes;
  StatByPool inactive_split;
  StatByPool inactive_split_bytes;
  std::uint64_t requested = 0;
  std::uint64_t live = 0;
  std::map<std::uint64_t, std::uint64_t> pending;  ///< address -> size
};

inline void count(StatByPool& stat, bool small, std::uint64_t amount) {
  stat.all.current += static_cast<std::int64_t>(amount);
  (small ? stat.small_pool : stat.large_pool).current += static_cast<std::int64_t>(amount);
}

inline void must_hold_now(const StatByPool& told, const StatByPool& found, const char* what) {
  must_equal(told.all.current, found.all.current, what);
  must_equal(told.small_pool.current, found.small_pool.current, what);
  must_equal(told.large_pool.current, found.large_pool.current, what);
  must(told.all.peak >= told.all.current, "a peak below what is now");
}

class Audit {
 public:
  Audit(const SegmentAllocator& allocator, Books& books, const Order& order,
        const std::vector<StreamId>& streams)
      : allocator_(allocator), books_(books), order_(order), streams_(streams) {}

  /// Cheap: what must hold after every step.
  void step() const {
    const SegmentStatistics told = allocator_.segment_statistics();
    books_.allocation.must_be(told.allocation, "allocation");
    books_.allocated_bytes.must_be(told.allocated_bytes, "allocated bytes");
    must_equal(told.num_ooms + told.num_oom_rejections, books_.out_of_memory,
               "num_ooms and num_oom_rejections");
    must_equal(told.active.all.current,
               told.allocation.all.current + static_cast<std::int64_t>(told.pending_free_blocks),
               "active blocks: allocated and pending");
    must_equal(
        told.active_bytes.all.current,
        told.allocated_bytes.all.current + static_cast<std::int64_t>(told.pending_free_bytes),
        "active bytes: allocated and pending");
    must(told.active_bytes.all.current <= told.reserved_bytes.all.current,
         "more active than reserved");
    must_equal(allocator_.active_bytes(), static_cast<std::uint64_t>(told.active_bytes.all.current),
               "active_bytes()");
  }

  /// All of it. `is_polled`: every free whose uses are done must have been completed.
  void all(bool is_polled) {
    const Found found = look();
    const SegmentStatistics told = allocator_.segment_statistics();
    must_hold_now(told.segment, found.segment, "segments");
    must_hold_now(told.reserved_bytes, found.reserved_bytes, "reserved bytes");
    must_hold_now(told.active, found.active, "active blocks");
    must_hold_now(told.active_bytes, found.active_bytes, "active bytes");
    must_hold_now(told.inactive_split, found.inactive_split, "inactive_split");
    must_hold_now(told.inactive_split_bytes, found.inactive_split_bytes, "inactive_split_bytes");
    must_equal(static_cast<std::uint64_t>(told.requested_bytes.all.current), found.requested,
               "requested bytes");
    must_equal(static_cast<std::int64_t>(told.num_device_alloc - told.num_device_free),
               found.segment.all.current - books_.segments_before,
               "device allocations less those given back");
    must_equal(found.live, books_.model.count(), "live blocks in segments");
    check_pending(found, is_polled);
    const Statistics common = allocator_.statistics();
    must_equal(common.allocated_bytes, books_.model.active, "Statistics::allocated_bytes");
    must_equal(common.mallocs, books_.model.mallocs, "mallocs");
    must_equal(common.frees, books_.model.frees, "frees");
    // A device that refuses to take a segment back counts too.
    must(common.refused_frees >= books_.model.refused &&
             common.refused_frees <=
                 books_.model.refused + allocator_.device().counts().refused_frees,
         "refused frees are not those of wrong frees and of the device");
  }

 private:
  Found look() const {
    Found found;
    std::uint64_t end = 0;
    for (const record::SegmentState& segment : allocator_.segments()) {
      must(segment.address >= end, "segments overlap or are out of order");
      end = segment.address + segment.size;
      count(found.segment, segment.is_small, 1);
      count(found.reserved_bytes, segment.is_small, segment.size);
      look_at(segment, found);
    }
    return found;
  }

  void look_at(const record::SegmentState& segment, Found& found) const {
    std::uint64_t at = segment.address;
    bool was_free = false;
    for (const record::BlockState& block : segment.blocks) {
      must_equal(block.address, at, "where a block of a segment starts");
      at += block.size;
      const bool is_free = block.use == record::BlockUse::inactive;
      must(!is_free || !was_free, "two free neighbours");
      was_free = is_free;
      if (is_free) {
        if (segment.blocks.size() == 1) continue;
        count(found.inactive_split, segment.is_small, 1);
        count(found.inactive_split_bytes, segment.is_small, block.size);
        continue;
      }
      count(found.active, segment.is_small, 1);
      count(found.active_bytes, segment.is_small, block.size);
      found.requested += block.requested;
      if (block.use == record::BlockUse::pending_free) {
        found.pending[block.address] = block.size;
      } else {
        ++found.live;
        look_at_live(segment, block);
      }
    }
    must_equal(at, segment.address + segment.size, "end of a segment's blocks");
  }

  void look_at_live(const record::SegmentState& segment, const record::BlockState& block) const {
    for (std::size_t i = 0; i < kSlots; ++i) {
      const random::Block& mine = books_.model.slots[i];
      if (!random::Model::holds(mine) || mine.buffer.address() != block.address) continue;
      const Held& held = books_.held[i];
      must_equal(block.size, mine.size, "size of a live block");
      must_equal(block.requested, mine.requested, "requested size of a live block");
      must(segment.stream == streams_[held.stream],
           "a live block lies in another stream's segment");
      must_equal(segment.is_small, is_small(held.rounded), "a live block's pool is small");
      must(segment.pool == held.pool || held.may_be_elsewhere,
           "a live block lies in another private pool");
      return;
    }
    throw random::Violation("a segment has a live block that nobody holds");
  }

  // Recorded uses are points behind the work: the point of position p is reached at the latest when
  // later work is done, or when nothing is queued any more; not before the work itself.
  void check_pending(const Found& found, bool is_polled) {
    for (const auto& [address, size] : found.pending) {
      const auto mine = books_.pending.find(address);
      must(mine != books_.pending.end(), "a block is pending that nobody else used");
      must_equal(size, mine->second.size, "size of a pending block");
    }
    for (auto it = books_.pending.begin(); it != books_.pending.end();) {
      const bool is_listed = found.pending.contains(it->first);
      must(is_listed || !is_certainly_in_use(it->second), "a block in use is not pending any more");
      must(!is_listed || !is_polled || !is_certainly_done(it->second),
           "a block stays pending, and everything that used it is done");
      it = is_listed ? std::next(it) : books_.pending.erase(it);
    }
  }
  bool is_certainly_in_use(const Pending& one) const {
    for (std::size_t i = 0; i < kStreams; ++i) {
      if (one.recorded[i] != 0 && !order_.is_done(i, one.recorded[i])) return true;
    }
    return false;
  }
  bool is_certainly_done(const Pending& one) const {
    for (std::size_t i = 0; i < kStreams; ++i) {
      const std::uint64_t position = one.recorded[i];
      if (position != 0 && !order_.is_done(i, position + 1)) return false;
    }
    return true;
  }

  const SegmentAllocator& allocator_;
  Books& books_;
  const Order& order_;
  const std::vector<StreamId>& streams_;
};

/// Of a request that was refused, none of these may have been at hand.
struct Refused {
  std::uint64_t size = 0;  ///< rounded
  std::uint64_t limit = 0;
  StreamId stream{};
  PoolId pool{};
};

inline bool may_serve(const SegmentSettings& settings, std::uint64_t block, std::uint64_t size) {
  if (block < size) return false;
  if (block < settings.max_split_bytes) return true;
  return size >= settings.max_split_bytes && block - size < settings.max_non_split_rounding_bytes;
}

/// After OutOfMemory (no fault, decisions ours): no free block would have served, all that could go
/// back is gone, and still there is no room.
inline void check_out_of_memory(const SegmentAllocator& allocator, const Refused& refused,
                                std::uint64_t device_free, const std::vector<PoolId>& held_pools) {
  const SegmentSettings settings = allocator.settings();
  std::uint64_t reserved = 0;
  for (const record::SegmentState& segment : allocator.segments()) {
    reserved += segment.size;
    const bool is_idle =
        segment.blocks.size() == 1 && segment.blocks[0].use == record::BlockUse::inactive;
    const bool is_held =
        std::ranges::count(held_pools, segment.pool) != 0 && segment.pool != refused.pool;
    must(!is_idle || is_held, "out of memory, and an idle segment was kept");
    if (segment.stream != refused.stream || segment.pool != refused.pool ||
        segment.is_small != is_small(refused.size)) {
      continue;
    }
    for (const record::BlockState& block : segment.blocks) {
      must(
          block.use != record::BlockUse::inactive || !may_serve(settings, block.size, refused.size),
          "out of memory, and a free block would have served");
    }
  }
  must_equal(allocator.segment_statistics().pending_free_blocks, 0u,
             "pending blocks after out of memory");
  const std::uint64_t request = device_request(settings, refused.size);
  must(request > device_free || reserved + request > refused.limit,
       "out of memory, and there was room for a segment");
}

}  // namespace strandline::alloc::segments_random
