// SPDX-License-Identifier: Apache-2.0
// The lock of an allocator. A malloc or free holds it for some ten nanoseconds, so what counts is
// its own cost, and an atomic exchange alone is five of them. Most allocators are used by one
// thread for long stretches: the lock is then *biased* to that thread, which takes it with plain
// stores.
//
//   biased to A    A:  inside = 1; still biased to A? ── yes ──▶ holds it;  unlock: inside = 0
//                  B:  takes the word; bias = none; barrier on all cores; waits for inside = 0
//   not biased     whoever exchanges the word for 1 holds it; a thread that does so kStreak times
//                  in a row gets the bias
//
// Each thread that ever has the bias has a word `inside` of its own: one that was interrupted
// between seeing its bias and saying so writes the word long after, when the bias may be another's.
// There are kOwners such words; a further thread gets no bias.
//
// The barrier (membarrier, which interrupts the cores that run this process) is what makes A's
// store and load safe without one of its own: A's check comes either before it, and B sees inside,
// or after it, and A sees that the bias is gone. Where the system has no such call there is no
// bias.
//
// A giver of the word stores without a fence, and may overlook a waiter that went to sleep in the
// same instant; such a waiter wakes by itself after kPatience. One wake is due at a time: until the
// thread woken is there, which takes thousands of mallocs, the others go on without a system call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "strandline/core/export.h"
#include "strandline/core/mutex.h"

namespace strandline::alloc {

// A number of this thread, a multiple of StateLock::kOwners, given when it first meets a lock.
extern STRANDLINE_FAST_TLS constinit thread_local std::uint32_t t_lock_thread;

class STRANDLINE_CAPABILITY("mutex") StateLock {
 public:
  StateLock() = default;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  void lock() noexcept STRANDLINE_ACQUIRE() {
    const std::uint32_t bias = bias_.load(std::memory_order_relaxed);
    const std::uint32_t owner = bias % kOwners;
    if (bias - owner == t_lock_thread) [[likely]] {
      inside_[owner].store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (bias_.load(std::memory_order_acquire) == bias) [[likely]] {
        held_by_bias_ = &inside_[owner];
        return;
      }
      inside_[owner].store(0, std::memory_order_release);
    }
    lock_word();
  }
  void unlock() noexcept STRANDLINE_RELEASE() {
    if (held_by_bias_ != nullptr) [[likely]] {
      std::atomic<std::uint32_t>& inside = *held_by_bias_;
      held_by_bias_ = nullptr;
      inside.store(0, std::memory_order_release);
      return;
    }
    word_.store(0, std::memory_order_release);
    if (wake_is_due_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      wake();
    }
  }

  void assert_held() const noexcept STRANDLINE_ASSERTS_HELD {}

  static constexpr std::uint32_t kOwners = 4;

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::uint32_t kStreak = 1000;

  void lock_word() noexcept;
  void lock_contended() noexcept;
  void revoke_bias(std::uint32_t bias) noexcept;
  void give_bias() noexcept;
  void wake() noexcept;

  std::atomic<std::uint32_t> bias_{kNobody};                  // a thread + its place among owners_
  std::array<std::atomic<std::uint32_t>, kOwners> inside_{};  // each written by one thread alone
  std::atomic<std::uint32_t> word_{0};                        // 1: held
  std::atomic<std::uint32_t> wake_is_due_{0};
  // Belong to who holds the lock.
  std::atomic<std::uint32_t>* held_by_bias_ = nullptr;
  std::array<std::uint32_t, kOwners> owners_{};
  std::uint32_t last_ = 0;
  std::uint32_t streak_ = 0;
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
