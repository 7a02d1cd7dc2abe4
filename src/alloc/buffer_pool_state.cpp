// SPDX-License-Identifier: Apache-2.0
// Limits at work, memory that leaves, residency, and what the state looks like.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "alloc/buffer_pool.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

using device::Address;
using record::Action;
using record::BlockState;

// -- limits ---------------------------------------------------------------------------------------

/// What would be too much of reserved if `bytes` came.
std::uint64_t BufferPool::excess(std::uint64_t bytes) const noexcept {
  const std::uint64_t limit = std::min(limits_.gc_bytes, hard_limit_);
  const std::uint64_t wanted = staying_bytes() + in_flight_bytes_ + bytes;
  return wanted > limit ? wanted - limit : 0;
}

void BufferPool::throw_memory_limit(const Request& request) {
  std::uint64_t left = 0;
  std::uint64_t limit = 0;
  {
    const StateGuard guard(lock_);
    limit = hard_limit_;
    left = limit - std::min(limit, staying_bytes());
  }
  throw_out_of_memory("the memory limit, which is hard, would be passed", request, left, limit);
}

bool BufferPool::do_trim(Departures& out) noexcept {
  const std::uint64_t cached = kept_bytes();
  const std::uint64_t staying = staying_bytes();
  const std::uint64_t too_much = std::max(cached - std::min(cached, limits_.cache_bytes),
                                          staying - std::min(staying, hard_limit_));
  if (too_much > 0 && !do_evict(too_much, out)) return false;
  while (staying_bytes() > hard_limit_) {
    if (out.full()) return false;
    if (!retire_idle_region(out)) break;
  }
  return true;
}

bool BufferPool::do_evict(std::uint64_t bytes, Departures& out) noexcept {
  flush_front();
  for (std::uint64_t gone = 0; gone < bytes;) {
    if (out.full()) return cache_.empty();
    const std::optional<BufferCache::Entry> oldest = cache_.take_oldest();
    if (!oldest) return true;
    gone += oldest->size;
    retire(block_of(oldest->handle), out);
  }
  return true;
}

bool BufferPool::do_empty(Departures& out) noexcept {
  if (!do_evict(UINT64_MAX, out)) return false;
  while (!out.full()) {
    if (!retire_idle_region(out)) return true;
  }
  return false;
}

void BufferPool::retire(Block& block, Departures& out) noexcept {
  send_off(block, leave_residency(block), out);
}

bool BufferPool::retire_idle_region(Departures& out) noexcept {
  flush_slots();
  const std::optional<std::uint64_t> base = heap_.remove_idle_region();
  if (!base) return false;
  Block* region = region_of(*base);
  std::erase(regions_, region);
  for (Address at = *base; at < *base + kRegionBytes; at += kSlotBytes) {
    if (Block* slot = table_.find(at)) table_.remove(*slot);
  }
  retire(*region, out);
  return true;
}

void BufferPool::do_keep(Block& block) noexcept {
  if (block.kind == BlockKind::region) return keep_region(block);
  block.use = BlockUse::kept;
  push_front(block);
  // Its residency has ended: it waits until the limit rises.
  if (enter_residency(block)) residency_.refuse(handle_of(block));
  if (!block.was_freed) return;
  block.was_freed = false;
  note_free(block, Action::free_to_cache);
}

void BufferPool::keep_region(Block& region) noexcept {
  region.use = BlockUse::allocated;
  try {
    heap_.add_region(region.address);
    list_region(region);
  } catch (...) {  // no memory for the books: it serves nobody until the end
  }
  if (enter_residency(region)) residency_.refuse(handle_of(region));
}

// -- residency ------------------------------------------------------------------------------------

bool BufferPool::enter_residency(Block& block) noexcept try {
  if (!has_residency_) return false;
  return residency_.insert(handle_of(block), block.size) == ResidencySet::Place::wired;
} catch (...) {  // no memory for the books: it is never wired
  return false;
}

bool BufferPool::leave_residency(Block& block) noexcept {
  return residency_.erase(handle_of(block)) == ResidencySet::Place::wired;
}

void BufferPool::wire(Block& block, std::uint32_t serial, Address address) noexcept {
  try {
    device_.memory().make_resident(address);
  } catch (...) {  // the device has its own limits: the block waits
    const StateGuard guard(lock_);
    if (block.serial == serial) residency_.refuse(handle_of(block));
  }
}

std::uint64_t BufferPool::do_set_wired_limit(std::uint64_t bytes) {
  if (!has_residency_) return 0;
  struct Change {
    Block* block;
    std::uint32_t serial;
    Address address;
    bool to_wire;
  };
  std::vector<Change> changes;
  std::uint64_t previous = 0;
  const LockGuard one_at_a_time(wiring_);
  {
    const StateGuard guard(lock_);
    previous = std::exchange(limits_.wired_bytes, bytes);
    for (const ResidencySet::Change& change : residency_.set_limit(bytes)) {
      Block& block = block_of(change.handle);
      changes.push_back(
          {&block, block.serial, block.address, change.place == ResidencySet::Place::wired});
    }
  }
  for (const Change& change : changes) {
    if (change.to_wire) {
      wire(*change.block, change.serial, change.address);
    } else {
      (void)device_.memory().end_residency(change.address);
    }
  }
  return previous;
}

// -- state ----------------------------------------------------------------------------------------

void BufferPool::do_statistics(Statistics& statistics) const {
  statistics.cached_count = cache_.count() + front_count_;
  statistics.spare_bytes = (heap_.free_slots() + slot_count_) * kSlotBytes;
  statistics.wired_bytes = residency_.wired_bytes();
}

record::SegmentState BufferPool::do_segment(const Block& block) const {
  record::SegmentState state;
  state.address = block.address;
  state.size = block.size;
  if (block.kind == BlockKind::region) {
    state.is_small = true;
    state.blocks = blocks_of_region(block);
    return state;
  }
  const bool is_live = block.use == BlockUse::allocated;
  state.blocks.push_back(
      {.address = block.address,
       .size = block.size,
       .requested = is_live ? block.requested : 0,
       .use = is_live ? record::BlockUse::allocated : record::BlockUse::inactive});
  return state;
}

// Slots that wait in slots_ are taken in the heap's eyes; what lies between two allocated ones is
// one free block.
std::vector<BlockState> BufferPool::blocks_of_region(const Block& region) const {
  std::vector<BlockState> blocks;
  Address end = region.address;  // of what has been told
  const auto tell_free_up_to = [&](Address to) {
    if (to > end) blocks.push_back({.address = end, .size = to - end});
  };
  heap_.for_each_taken_beside(region.address, [&](Address at) {
    lock_.assert_held();
    const Block* slot = table_.find(at);
    if (slot->use != BlockUse::allocated) return;
    tell_free_up_to(at);
    blocks.push_back({.address = at,
                      .size = kSlotBytes,
                      .requested = slot->requested,
                      .use = record::BlockUse::allocated});
    end = at + kSlotBytes;
  });
  tell_free_up_to(region.address + region.size);
  return blocks;
}

void BufferPool::do_validate() const {
  cache_.validate();
  heap_.validate();
  residency_.validate();
  std::uint64_t cached = 0;
  std::uint64_t cached_count = 0;
  std::uint64_t slots = 0;
  std::uint64_t regions = 0;
  table_.for_each([&](const Block& block) {
    if (block.kind == BlockKind::whole && block.use == BlockUse::kept) {
      cached += block.size;
      ++cached_count;
    }
    if (block.kind == BlockKind::slot && block.use == BlockUse::allocated) ++slots;
    if (block.kind == BlockKind::region && block.use == BlockUse::allocated) ++regions;
  });
  const auto check = [](const char* what, std::uint64_t is, std::uint64_t should) {
    if (is == should) return;
    throw InternalError(
        error_message("BufferPool::validate", what, std::to_string(is), std::to_string(should)));
  };
  check("cached bytes", kept_bytes(), cached);
  check("cached buffers", cache_.count() + front_count_, cached_count);
  check("taken slots", heap_.taken_slots(), slots + slot_count_);
  check("regions", heap_.region_count(), regions);
  check("wired beyond the limit", std::max(residency_.wired_bytes(), limits_.wired_bytes),
        limits_.wired_bytes);
}

}  // namespace strandline::alloc
