// SPDX-License-Identifier: Apache-2.0
// Taking, putting and obtaining buffers. Limits at work and the state are in buffer_pool_state.cpp.
#include "alloc/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <new>

#include <fmt/format.h>

#include "strandline/core/error.h"

namespace strandline::alloc {

using device::Address;
using device::Allocation;
using record::Action;

namespace {

std::uint64_t checked_page(const PoolOptions& options, const device::Facts& facts) {
  const std::uint64_t granularity = facts.allocation_granularity;
  const std::uint64_t page =
      options.page_bytes == 0 ? std::max<std::uint64_t>(granularity, 4096) : options.page_bytes;
  if (!std::has_single_bit(page) || page < granularity) {
    throw InvalidArgument(error_message(options.name, "page_bytes", std::to_string(page),
                                        fmt::format("a power of two from {}", granularity)));
  }
  return page;
}

}  // namespace

class BufferPool::InFlight {
 public:
  explicit InFlight(BufferPool& pool) : pool_(pool) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() {
    if (buffers_ == 0) return;
    const StateGuard guard(pool_.lock_);
    pool_.in_flight_bytes_ -= bytes_;
    pool_.in_flight_buffers_ -= buffers_;
  }

  void add(std::uint64_t bytes) STRANDLINE_NO_LOCK_ANALYSIS {
    bytes_ = bytes;
    buffers_ = 1;
    pool_.in_flight_bytes_ += bytes;
    pool_.in_flight_buffers_ += 1;
  }
  /// The bytes have arrived and are reserved.
  void land() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
    pool_.in_flight_bytes_ -= bytes_;
    pool_.in_flight_buffers_ -= buffers_;
    buffers_ = 0;
  }

 private:
  BufferPool& pool_;
  std::uint64_t bytes_ = 0;
  std::uint64_t buffers_ = 0;
};

BufferPool::BufferPool(device::Device& device, const PoolOptions& options)
    : Core(options.name, device, options.placement, options.limits),
      page_bytes_(checked_page(options, facts_)),
      has_residency_(options.has_residency && facts_.supports.residency),
      cache_(page_bytes_),
      heap_(kSlotBytes, kRegionBytes),
      residency_({.limit_bytes = options.limits.wired_bytes,
                  .max_set_bytes = ResidencySet::set_cap(facts_.working_set_bytes)}) {}

// -- with the lock --------------------------------------------------------------------------------

Block* BufferPool::do_take(const Request& request) noexcept {
  if (is_small(request)) return take_slot(request);
  return take_whole(request);
}

Block* BufferPool::take_slot(const Request& request) noexcept {
  if (active_bytes() + kSlotBytes > hard_limit_) [[unlikely]] {
    return nullptr;
  }
  Block* block = slot_count_ > 0 ? slots_[--slot_count_] : take_heap_slot();
  if (block != nullptr) hand_out(*block, request, Action::alloc);
  return block;
}

Block* BufferPool::take_heap_slot() noexcept {
  const std::optional<std::uint64_t> address = heap_.take();
  if (!address) return nullptr;
  if (Block* known = table_.find(*address)) return known;
  try {
    return &slot_at(*address);
  } catch (const std::bad_alloc&) {
    (void)heap_.put(*address);
    return nullptr;
  }
}

void BufferPool::push_slot(Block& block) noexcept {
  if (slot_count_ == slots_.size()) {
    (void)heap_.put(slots_[0]->address);
    std::copy(slots_.begin() + 1, slots_.end(), slots_.begin());
    --slot_count_;
  }
  slots_[slot_count_++] = &block;
}

void BufferPool::flush_slots() noexcept {
  for (std::size_t i = 0; i < slot_count_; ++i) (void)heap_.put(slots_[i]->address);
  slot_count_ = 0;
}

// The record of a slot is made when the slot is first used, and lives as long as its region.
Block& BufferPool::slot_at(Address address) {
  Block& block = table_.add(address);
  block.kind = BlockKind::slot;
  block.size = kSlotBytes;
  block.buffer = region_of(address)->buffer;
  return block;
}

// There is room in the cache, see adopt.
void BufferPool::put_into_cache(Block& block) noexcept {
  (void)cache_.try_put({handle_of(block), block.size});
  ++cache_epoch_;
}

void BufferPool::push_front(Block& block) noexcept {
  if (front_count_ == front_.size()) {
    put_into_cache(*front_[0]);
    front_bytes_ -= front_[0]->size;
    std::copy(front_.begin() + 1, front_.end(), front_.begin());
    --front_count_;
  }
  front_[front_count_++] = &block;
  front_bytes_ += block.size;
}

// The best fit in front is the best of all when it fits exactly; or when it was the best in the
// cache for this very size before, and the cache has not grown since.
Block* BufferPool::take_front(std::uint64_t size) noexcept {
  std::size_t best = front_count_;
  for (std::size_t i = front_count_; i-- > 0;) {
    const std::uint64_t kept = front_[i]->size;
    if (!cache_.serves(kept, size)) continue;
    if (best == front_count_ || kept < front_[best]->size) best = i;
    if (kept == size) break;
  }
  if (best == front_count_) return nullptr;
  Block* block = front_[best];
  const bool is_best = block->size == size ||
                       (block->fit_epoch == cache_epoch_ && page_rounded(block->requested) == size);
  if (!is_best) return nullptr;
  front_bytes_ -= block->size;
  --front_count_;
  for (; best < front_count_; ++best) front_[best] = front_[best + 1];
  return block;
}

void BufferPool::flush_front() noexcept {
  for (std::size_t i = 0; i < front_count_; ++i) put_into_cache(*front_[i]);
  front_count_ = 0;
  front_bytes_ = 0;
}

Block* BufferPool::take_whole(const Request& request) noexcept {
  const std::uint64_t size = page_rounded(request.bytes);
  Block* block = take_front(size);
  if (block == nullptr) {
    if (size < request.bytes) [[unlikely]] {
      return nullptr;
    }
    flush_front();
    const std::optional<BufferCache::Entry> entry = cache_.take(size);
    if (!entry) return nullptr;
    block = &block_of(entry->handle);
    block->fit_epoch = cache_epoch_;
  }
  const bool unfit = (request.alignment != 0 && block->address % request.alignment != 0) ||
                     active_bytes() + block->size > hard_limit_;
  if (unfit) [[unlikely]] {
    push_front(*block);
    return nullptr;
  }
  hand_out(*block, request, Action::alloc_reuse);
  return block;
}

bool BufferPool::do_put(Block& block, Departures& out) noexcept {
  if (block.kind == BlockKind::slot) {
    block.use = BlockUse::kept;
    push_slot(block);
    note_free(block, Action::free_requested);
    note_free(block, Action::free_completed);
    return true;
  }
  // One that would not stay must not push others out first.
  if (block.size > limits_.cache_bytes) [[unlikely]] {
    block.was_freed = true;
    retire(block, out);
    return true;
  }
  block.use = BlockUse::kept;
  push_front(block);
  note_free(block, Action::free_to_cache);
  if (kept_bytes() <= limits_.cache_bytes) [[likely]] {
    return true;
  }
  return do_trim(out);
}

// -- without it -----------------------------------------------------------------------------------

Block& BufferPool::do_obtain(const Request& request) {
  if (is_small(request)) {
    if (Block* block = obtain_slot(request)) return *block;
  }
  return obtain_whole(request);
}

BufferPool::Room BufferPool::make_room(std::uint64_t bytes, InFlight& in_flight) {
  for (bool can_evict = true;;) {
    Departures out;
    {
      const StateGuard guard(lock_);
      const std::uint64_t too_much = excess(bytes);
      const bool capped = staying_buffers() + in_flight_buffers_ >= limits_.buffers;
      if (can_evict && (too_much > 0 || capped)) {
        do_evict(std::max<std::uint64_t>(too_much, 1), out);
        // Only a hard limit is worth a heap.
        if (out.empty() && hard_limit_ != UINT64_MAX) retire_idle_region(out);
      }
      if (out.empty()) {
        if (capped) return Room::buffer_limit;
        if (staying_bytes() + in_flight_bytes_ + bytes > hard_limit_) return Room::memory_limit;
        in_flight.add(bytes);
        return Room::made;
      }
    }
    can_evict = depart(out).refused == 0;  // what is refused is kept, and would be refused again
  }
}

// Null where no region can be had: a page of its own then serves the request.
Block* BufferPool::obtain_slot(const Request& request) {
  InFlight in_flight(*this);
  if (make_room(kRegionBytes, in_flight) != Room::made) return nullptr;
  Allocation memory;
  try {
    memory = device_.memory().allocate(
        kRegionBytes,
        {.placement = placement_, .alignment = std::max(kSlotBytes, facts_.allocation_alignment)});
  } catch (const OutOfMemory&) {
    return nullptr;
  }
  return add_region(memory, request, in_flight);
}

Block* BufferPool::add_region(const Allocation& memory, const Request& request,
                              InFlight& in_flight) {
  bool wired = false;
  Block* region = nullptr;
  Block* slot = nullptr;
  std::uint32_t serial = 0;
  try {
    const StateGuard guard(lock_);
    settle_overlapped(memory.address, memory.size);
    region = &place_region(memory);
    serial = region->serial;
    in_flight.land();
    add_reserved(*region);
    note_segment(*region, Action::segment_alloc);
    wired = enter_residency(*region);
    slot = take_slot(request);
  } catch (const std::bad_alloc&) {
    (void)device_.memory().deallocate(memory.address);
    throw;
  }
  if (wired) wire(*region, serial, memory.address);
  return slot;
}

Block& BufferPool::place_region(const Allocation& memory) {
  regions_.reserve(regions_.size() + 1);
  Block& region = table_.add_unlisted(memory.address);
  try {
    heap_.add_region(memory.address);
  } catch (...) {
    table_.remove(region);
    throw;
  }
  region.kind = BlockKind::region;
  region.use = BlockUse::allocated;
  region.size = memory.size;
  region.buffer = memory.buffer;
  list_region(region);
  return region;
}

void BufferPool::list_region(Block& region) noexcept {
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), region.address,
                       [](Address address, const Block* one) { return address < one->address; });
  regions_.insert(after, &region);
}

Block* BufferPool::region_of(Address address) const noexcept {
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](Address at, const Block* one) { return at < one->address; });
  return after == regions_.begin() ? nullptr : *std::prev(after);
}

Block& BufferPool::obtain_whole(const Request& request) {
  const std::uint64_t size = page_rounded(request.bytes);
  if (size < request.bytes || size > facts_.max_allocation_bytes) {
    throw_out_of_memory("more than the device can ever give", request, facts_.max_allocation_bytes,
                        facts_.total_bytes);
  }
  if (is_small(request)) {
    const StateGuard guard(lock_);
    if (Block* block = take_whole(request)) return *block;
  }
  InFlight in_flight(*this);
  switch (make_room(size, in_flight)) {
    case Room::made:
      break;
    case Room::memory_limit:
      throw_memory_limit(request);
    case Room::buffer_limit:
      throw_buffer_limit(request);
  }
  return adopt(allocate(size, request), request, in_flight);
}

Allocation BufferPool::allocate(std::uint64_t bytes, const Request& request) {
  const device::AllocateOptions options{
      .placement = placement_,
      .alignment = std::max(request.alignment, facts_.allocation_alignment)};
  try {
    return device_.memory().allocate(bytes, options);
  } catch (const OutOfMemory&) {  // the cache may hold what is missing
  }
  empty_cache();
  try {
    return device_.memory().allocate(bytes, options);
  } catch (const OutOfMemory& refusal) {
    throw_out_of_memory(fmt::format("{} has no memory left, also without the cache ({})",
                                    facts_.name, refusal.what()),
                        request, refusal.available, facts_.total_bytes);
  }
}

Block& BufferPool::adopt(const Allocation& memory, const Request& request, InFlight& in_flight) {
  bool wired = false;
  Block* block = nullptr;
  std::uint32_t serial = 0;
  try {
    const StateGuard guard(lock_);
    settle_overlapped(memory.address, memory.size);
    drop_stale(memory.address);
    cache_.reserve(buffers() + 1);
    block = &table_.add(memory.address);
    block->size = memory.size;
    block->buffer = memory.buffer;
    serial = block->serial;
    wired = enter_residency(*block);
    in_flight.land();
    add_reserved(*block);
    hand_out(*block, request, Action::alloc_new);
  } catch (const std::bad_alloc&) {
    (void)device_.memory().deallocate(memory.address);
    throw;
  }
  if (wired) wire(*block, serial, memory.address);
  return *block;
}

}  // namespace strandline::alloc
