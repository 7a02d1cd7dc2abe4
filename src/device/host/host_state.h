// SPDX-License-Identifier: Apache-2.0
// What the parts of a host device share: facts, the gate, one lock, memory in use, buffer objects.
// The lock is held for bookkeeping only: system calls that may block and all foreign code run
// without it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "device/capture_book.h"
#include "strandline/core/mutex.h"
#include "strandline/device/calls.h"
#include "strandline/device/facts.h"

namespace strandline::device {

/// Bytes charged against the capacity. Any thread.
class HostAccount {
 public:
  explicit HostAccount(std::uint64_t capacity) : capacity_(capacity) {}

  /// Throws OutOfMemory when the bytes do not fit.
  void charge(const char* function, std::uint64_t bytes);
  void refund(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t free_bytes() const noexcept {
    return capacity_ - used_.load(std::memory_order_relaxed);
  }

 private:
  const std::uint64_t capacity_;
  std::atomic<std::uint64_t> used_{0};
};

/// Mapped memory; unmapped and refunded when the last that keeps it lets go.
class HostRegion {
 public:
  HostRegion(std::shared_ptr<HostAccount> account, std::uint64_t bytes, std::uint64_t alignment);
  HostRegion(const HostRegion&) = delete;
  HostRegion& operator=(const HostRegion&) = delete;
  ~HostRegion();

  [[nodiscard]] Address address() const noexcept { return address_; }
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }

 private:
  std::shared_ptr<HostAccount> account_;
  Address address_ = 0;
  std::uint64_t mapped_bytes_ = 0;
};

struct HostBuffer {
  Address address = 0;
  std::uint64_t size = 0;
  std::shared_ptr<HostRegion> region;  ///< of an owning buffer
};

struct HostState {
  explicit HostState(Facts device_facts)
      : facts(std::move(device_facts)), account(std::make_shared<HostAccount>(facts.total_bytes)) {}

  /// Checks the buffers that the operation names and makes it keep them.
  void bind(Operation& operation) STRANDLINE_REQUIRES(mutex);

  const Facts facts;
  CallGate gate;
  std::shared_ptr<HostAccount> account;
  Mutex mutex;
  CaptureBook book STRANDLINE_GUARDED_BY(mutex);
  std::unordered_map<BufferId, std::shared_ptr<HostBuffer>> buffers STRANDLINE_GUARDED_BY(mutex);
  std::uint64_t last_id STRANDLINE_GUARDED_BY(mutex) = 0;
};

[[nodiscard]] std::uint64_t system_page_bytes();
[[nodiscard]] std::uint64_t machine_memory_bytes();
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace strandline::device
