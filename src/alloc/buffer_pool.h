// SPDX-License-Identifier: Apache-2.0
// The core of allocators that hand out whole buffers of the device: BufferCache for what is freed,
// SmallHeap for the smallest, ResidencySet where the device can wire memory. Lazy-arrays.md B-VII
// 50 to 53, 57, 58 and B-VIII say what MLX does; where this differs, it says so.
//
//   request <= 256 bytes ──▶ slot of a heap ──▶ (no heap can be had) ──▶ a page
//   larger               ──▶ cache: best fit ──▶ device ──▶ without the cache, device again
#pragma once

#include <optional>
#include <vector>

#include "alloc/core.h"
#include "strandline/alloc/buffer_cache.h"
#include "strandline/alloc/residency_set.h"
#include "strandline/alloc/small_heap.h"

namespace strandline::alloc {

struct PoolOptions {
  std::string_view name;
  device::Placement placement = device::Placement::host;
  Limits limits;                 ///< gc_bytes: the most it will be
  std::uint64_t page_bytes = 0;  ///< a power of two; 0: the device's granularity
  bool has_residency = false;    ///< wires memory up to the wired limit, where the device can
};

class BufferPool final : public Core {
 public:
  static constexpr std::uint64_t kSlotBytes = 256;
  static constexpr std::uint64_t kRegionBytes = 1 << 20;

  BufferPool(device::Device& device, const PoolOptions& options);

 private:
  /// Bytes on their way from the device, so that limits hold for all threads together.
  class InFlight;
  enum class Room : std::uint8_t { made, memory_limit, buffer_limit };

  Block* do_take(const Request& request) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_put(Block& block, Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  void do_keep(Block& block) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_trim(Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_evict(std::uint64_t bytes, Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_empty(Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  void do_statistics(Statistics& statistics) const override STRANDLINE_REQUIRES(lock_);
  record::SegmentState do_segment(const Block& block) const override STRANDLINE_REQUIRES(lock_);
  void do_validate() const override STRANDLINE_REQUIRES(lock_);
  Block& do_obtain(const Request& request) override STRANDLINE_EXCLUDES(lock_);
  std::uint64_t do_set_wired_limit(std::uint64_t bytes) override STRANDLINE_EXCLUDES(lock_);

  static bool is_small(const Request& request) noexcept {
    return request.bytes <= kSlotBytes && request.alignment <= kSlotBytes;
  }
  std::uint64_t page_rounded(std::uint64_t bytes) const noexcept {
    return (bytes + page_bytes_ - 1) & ~(page_bytes_ - 1);
  }

  // The buffers freed last wait before the cache, where the next request finds them without a
  // search. They are the newest, so nothing changes in what is reused or leaves; they enter the
  // cache, in order, before anything else is asked of it. Slots do the same before the heap.
  void push_front(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  Block* take_front(std::uint64_t size) noexcept STRANDLINE_REQUIRES(lock_);
  void put_into_cache(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  void flush_front() noexcept STRANDLINE_REQUIRES(lock_);
  void push_slot(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  void flush_slots() noexcept STRANDLINE_REQUIRES(lock_);
  std::uint64_t kept_bytes() const noexcept STRANDLINE_REQUIRES(lock_) {
    return front_bytes_ + cache_.bytes();
  }

  Block* take_heap_slot() noexcept STRANDLINE_REQUIRES(lock_);
  Block* take_slot(const Request& request) noexcept STRANDLINE_REQUIRES(lock_);
  Block* take_whole(const Request& request) noexcept STRANDLINE_REQUIRES(lock_);
  Block& slot_at(device::Address address) STRANDLINE_REQUIRES(lock_);
  Block* obtain_slot(const Request& request) STRANDLINE_EXCLUDES(lock_);
  Block* add_region(const device::Allocation& memory, const Request& request, InFlight& in_flight)
      STRANDLINE_EXCLUDES(lock_);
  Block& place_region(const device::Allocation& memory) STRANDLINE_REQUIRES(lock_);
  void list_region(Block& region) noexcept STRANDLINE_REQUIRES(lock_);
  Block& obtain_whole(const Request& request) STRANDLINE_EXCLUDES(lock_);
  Room make_room(std::uint64_t bytes, InFlight& in_flight) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t excess(std::uint64_t bytes) const noexcept STRANDLINE_REQUIRES(lock_);
  device::Allocation allocate(std::uint64_t bytes, const Request& request)
      STRANDLINE_EXCLUDES(lock_);
  Block& adopt(const device::Allocation& memory, const Request& request, InFlight& in_flight)
      STRANDLINE_EXCLUDES(lock_);
  [[noreturn]] void throw_memory_limit(const Request& request) STRANDLINE_EXCLUDES(lock_);
  /// Whether the device has to be told to wire it.
  bool enter_residency(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  bool leave_residency(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  void wire(Block& block, std::uint32_t serial, device::Address address) noexcept
      STRANDLINE_EXCLUDES(lock_);
  void retire(Block& block, Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  bool retire_idle_region(Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  void keep_region(Block& region) noexcept STRANDLINE_REQUIRES(lock_);
  Block* region_of(device::Address address) const noexcept STRANDLINE_REQUIRES(lock_);
  std::vector<record::BlockState> blocks_of_region(const Block& region) const
      STRANDLINE_REQUIRES(lock_);

  static std::uint64_t handle_of(const Block& block) noexcept {
    return reinterpret_cast<std::uint64_t>(&block);
  }
  static Block& block_of(std::uint64_t handle) noexcept {
    return *reinterpret_cast<Block*>(handle);
  }

  const std::uint64_t page_bytes_;
  const bool has_residency_;
  BufferCache cache_ STRANDLINE_GUARDED_BY(lock_);
  std::array<Block*, 4> front_ STRANDLINE_GUARDED_BY(lock_) = {};  // oldest first
  std::array<Block*, 8> slots_ STRANDLINE_GUARDED_BY(lock_) = {};  // oldest first
  std::size_t slot_count_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint32_t cache_epoch_ STRANDLINE_GUARDED_BY(lock_) = 0;  // grows as the cache does
  std::size_t front_count_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t front_bytes_ STRANDLINE_GUARDED_BY(lock_) = 0;
  SmallHeap heap_ STRANDLINE_GUARDED_BY(lock_);
  ResidencySet residency_ STRANDLINE_GUARDED_BY(lock_);
  std::vector<Block*> regions_ STRANDLINE_GUARDED_BY(lock_);  // by address
  std::uint64_t in_flight_bytes_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t in_flight_buffers_ STRANDLINE_GUARDED_BY(lock_) = 0;
  Mutex wiring_;  // one change of the wired limit at a time; taken before lock_
};

}  // namespace strandline::alloc
