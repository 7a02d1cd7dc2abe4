// SPDX-License-Identifier: Apache-2.0
// The allocator: memory of one device, handed out as buffers and taken back, with limits,
// statistics and a record of every step. All allocators are this class over a core of their own
// (host_allocator.h, unified_allocator.h); all pass one contract suite, tests/alloc/contract.
//
//   alloc::HostAllocator allocator(*device);
//   alloc::Buffer buffer = allocator.malloc(1 << 20);
//   std::memset(buffer.raw_ptr(), 0, allocator.size(buffer));
//   allocator.free(buffer);
//
// Threads: every call from any thread. The device is never called under the allocator's lock.
// Streams: free and release say that no queued work uses the buffer any more; a runtime calls them
// from the stream (Streams::enqueue_host_task) or after waiting for it. malloc never waits.
// Errors: InvalidArgument for what could never work; OutOfMemory, which names requested, active,
// cached, limit and the largest holders; DeviceError when the device refuses otherwise. After any
// of them everything held is as it was, but cached memory may have gone back to the device.
// free, release and the destructor never throw: they count, and log the first misuse.
// Record: with the recorder on, each action is one event, written under the lock that changes the
// state; with it off a malloc and a free cost one load and one branch more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "strandline/alloc/types.h"
#include "strandline/core/export.h"
#include "strandline/device/device.h"
#include "strandline/record/state.h"

namespace strandline::alloc {

class Allocator;
class Core;

/// Names memory of an allocator; owns nothing. Null stands for no memory.
class STRANDLINE_API Buffer {
 public:
  Buffer() = default;
  Buffer(const void* ptr, Allocator* allocator) noexcept
      : ptr_(const_cast<void*>(ptr)), allocator_(allocator) {}

  /// Where the memory is, for the device. Costs nothing, waits for nothing.
  [[nodiscard]] void* ptr() const noexcept { return ptr_; }
  [[nodiscard]] device::Address address() const noexcept {
    return reinterpret_cast<device::Address>(ptr_);
  }
  /// Where the host may read and write, see Allocator::raw_ptr. Null for null.
  [[nodiscard]] void* raw_ptr() const;
  /// Where it came from and returns to; null for null.
  [[nodiscard]] Allocator* allocator() const noexcept { return allocator_; }

  explicit operator bool() const noexcept { return ptr_ != nullptr; }
  bool operator==(const Buffer&) const = default;

 private:
  void* ptr_ = nullptr;
  Allocator* allocator_ = nullptr;
};

class STRANDLINE_API Allocator {
 public:
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  /// Gives everything back to the device; buffers still out are counted, logged once, and gone.
  virtual ~Allocator();

  /// At least `bytes` with undefined contents; null for 0 bytes. Throws OutOfMemory (also for more
  /// than the device can ever give), InvalidArgument for an alignment that is no power of two or
  /// exceeds the device's, and for a stream that is not the device's.
  [[nodiscard]] Buffer malloc(std::uint64_t bytes, const MallocOptions& options = {});
  /// Takes back what malloc gave; null does nothing. What is unknown (freed before, foreign, of
  /// another allocator, wrapped) stays as it is, is counted, and fails an assertion of debug
  /// builds.
  void free(Buffer buffer) noexcept;
  /// The same, and says how it ended.
  device::FreeStatus try_free(Buffer buffer) noexcept;

  /// Bytes that the buffer holds, >= what was asked for; 0 for null. InvalidArgument when unknown.
  [[nodiscard]] std::uint64_t size(Buffer buffer) const;
  /// What work that uses the buffer names (its bytes and the device's buffer object).
  [[nodiscard]] device::Slice slice(Buffer buffer) const;
  /// Where the host may read and write, after waiting for work of the buffer's stream and of those
  /// said by note_write. InvalidArgument when unknown or when the device hides its memory from the
  /// host; DeviceError when that work failed, once.
  [[nodiscard]] void* raw_ptr(Buffer buffer) const;
  /// Whether raw_ptr is refused for all but wrapped memory.
  [[nodiscard]] bool hides_memory() const noexcept;
  /// Work of `stream` that writes the buffer has been queued: raw_ptr will wait for it.
  void note_write(Buffer buffer, StreamId stream);

  /// A buffer over memory that the caller keeps until `release`, neither copied nor ever reused. It
  /// counts as active and reserved. InvalidArgument for null, 0 bytes, what the device cannot wrap
  /// (Facts::supports.no_copy_buffers, no_copy_alignment) and an address that is wrapped or in use
  /// already; OutOfMemory at the limit of buffers.
  [[nodiscard]] Buffer make_buffer(void* memory, std::uint64_t bytes);
  /// The same, but null where the device cannot wrap this memory: the caller then copies.
  [[nodiscard]] Buffer try_make_buffer(void* memory, std::uint64_t bytes);
  /// Ends what make_buffer made; as try_free otherwise.
  device::FreeStatus release(Buffer buffer) noexcept;

  [[nodiscard]] Limits limits() const;
  // Each returns what was set before and takes effect at once, that of buffers when the next one is
  // needed. Memory already handed out stays.
  MemoryLimit set_memory_limit(std::uint64_t bytes, LimitRule rule = LimitRule::guideline);
  std::uint64_t set_cache_limit(std::uint64_t bytes);
  /// InvalidArgument past Facts::working_set_bytes. Does nothing and returns 0 where the device or
  /// the allocator has no residency.
  std::uint64_t set_wired_limit(std::uint64_t bytes);
  std::uint64_t set_buffer_limit(std::uint64_t count);

  [[nodiscard]] Statistics statistics() const;
  /// Without the lock, for those who ask often: Statistics::active_bytes.
  [[nodiscard]] std::uint64_t active_bytes() const noexcept;
  void reset_peaks(PeakReset how = PeakReset::to_current) noexcept;
  /// What is reserved now, by address: Σ size = Statistics::reserved_bytes.
  [[nodiscard]] std::vector<record::SegmentState> segments() const;
  /// Gives cached memory back to the device; the bytes it gave.
  std::uint64_t empty_cache() noexcept;

  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] device::Device& device() const noexcept;
  /// Checks every invariant; throws InternalError naming the first that does not hold. O(n).
  void validate() const;

 protected:
  explicit Allocator(std::unique_ptr<Core> core);

 private:
  std::unique_ptr<Core> core_;
};

inline void* Buffer::raw_ptr() const {
  return allocator_ == nullptr ? nullptr : allocator_->raw_ptr(*this);
}

}  // namespace strandline::alloc
