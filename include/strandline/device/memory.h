// SPDX-License-Identifier: Apache-2.0
// Raw memory of a device: allocations, buffers over foreign memory, stream-ordered allocations,
// residency. No caching and no rounding for reuse: that is what allocators are for.
//
// Threads: every call from any thread. Nothing is called back under a lock.
// Errors: InvalidArgument for what could never work, OutOfMemory for what might another time,
// DeviceError for the rest. The calls on free paths are noexcept, see FreeStatus. A call that
// throws leaves nothing behind.
#pragma once

#include <cstdint>

#include "strandline/core/export.h"
#include "strandline/device/calls.h"
#include "strandline/device/facts.h"
#include "strandline/device/types.h"

namespace strandline::device {

struct AllocateOptions {
  Placement placement = Placement::device;
  std::uint64_t alignment = 0;  ///< a power of two up to Facts::max_alignment; 0: the device's own
};

class STRANDLINE_API Memory {
 public:
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// `bytes` > 0 of memory with undefined contents, and the buffer that owns it. Does not wait.
  /// Forbidden in a capture that is not relaxed (`Capture::exchange_thread_mode`).
  [[nodiscard]] Allocation allocate(std::uint64_t bytes, const AllocateOptions& options = {});

  /// Gives memory back; `address` is what allocate returned, 0 does nothing. No ordering: work that
  /// reaches the memory by address must be done, unless Facts say that the call waits. Work that
  /// binds the owning buffer keeps the memory where Facts say so; it is then free when that work is
  /// done, while wrapped buffers over it never keep it.
  FreeStatus deallocate(Address address) noexcept;

  /// Memory that may be used by work of `stream` enqueued after this call; other streams need a
  /// device event in between. Freed by either form of deallocate.
  [[nodiscard]] Allocation allocate_ordered(std::uint64_t bytes, StreamId stream);
  /// Frees once the work enqueued on `stream` so far is done. Does not wait.
  FreeStatus deallocate_ordered(Address address, StreamId stream) noexcept;

  /// A no-copy buffer over memory that the caller keeps until every use is done: foreign memory, or
  /// part of an allocation. `address` and `bytes` are multiples of Facts::no_copy_alignment unless
  /// the bytes lie in an allocation of this device. Bytes may be wrapped more than once; where
  /// Facts say orders_by_buffer, work through different buffers is not ordered.
  [[nodiscard]] BufferId wrap(Address address, std::uint64_t bytes);
  /// Ends a wrapped buffer (an owning one ends with its memory). Queued work keeps what it binds.
  FreeStatus release_buffer(BufferId buffer) noexcept;

  /// Tells the device that the host wrote these bytes by pointer. Costs nothing where nobody asks;
  /// a simulation learns from it that the bytes are defined.
  void note_host_write(const Slice& slice) noexcept { do_note_host_write(slice); }

  /// Wires the allocation at `address` until it is freed or end_residency; again is no error.
  /// OutOfMemory past Facts::working_set_bytes.
  void make_resident(Address address);
  FreeStatus end_residency(Address address) noexcept;

  /// What a new allocation could have, now.
  [[nodiscard]] MemoryInfo info() const;

 protected:
  Memory(const Facts& facts, CallGate& gate) : facts_(facts), gate_(gate) {}

  const Facts& facts_;
  CallGate& gate_;

 private:
  virtual Allocation do_allocate(std::uint64_t bytes, Placement placement,
                                 std::uint64_t alignment) = 0;
  virtual FreeStatus do_deallocate(Address address) noexcept = 0;
  virtual Allocation do_allocate_ordered(std::uint64_t bytes, StreamId stream) = 0;
  virtual FreeStatus do_deallocate_ordered(Address address, StreamId stream) noexcept = 0;
  virtual BufferId do_wrap(Address address, std::uint64_t bytes) = 0;
  virtual FreeStatus do_release_buffer(BufferId buffer) noexcept = 0;
  virtual void do_note_host_write(const Slice&) noexcept {}
  virtual void do_make_resident(Address address) = 0;
  virtual FreeStatus do_end_residency(Address address) noexcept = 0;
  virtual MemoryInfo do_info() const = 0;
};

}  // namespace strandline::device
