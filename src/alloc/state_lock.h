// SPDX-License-Identifier: Apache-2.0
// The lock of an allocator. A malloc or free holds it for some ten nanoseconds, so its own cost is
// what counts: one atomic exchange to take it, a plain store to give it back. The price is that a
// giver may overlook a waiter that went to sleep in the same instant; such a waiter wakes by
// itself after kPatience. A cut of the recorder may hold the lock for milliseconds: then waiters
// sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "strandline/core/mutex.h"

namespace strandline::alloc {

class STRANDLINE_CAPABILITY("mutex") StateLock {
 public:
  StateLock() = default;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  void lock() noexcept STRANDLINE_ACQUIRE() {
    if (state_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]] {
      lock_contended();
    }
  }
  void unlock() noexcept STRANDLINE_RELEASE() {
    state_.store(0, std::memory_order_release);
    if (sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      wake();
    }
  }

 private:
  void lock_contended() noexcept;
  void wake() noexcept;

  std::atomic<std::uint32_t> state_{0};  // 1: held
  std::atomic<std::uint32_t> sleepers_{0};
};

class STRANDLINE_SCOPED_CAPABILITY StateGuard {
 public:
  explicit StateGuard(StateLock& lock) noexcept STRANDLINE_ACQUIRE(lock) : lock_(lock) {
    lock_.lock();
  }
  ~StateGuard() STRANDLINE_RELEASE() { lock_.unlock(); }
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  StateLock& lock_;
};

}  // namespace strandline::alloc
