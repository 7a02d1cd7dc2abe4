// SPDX-License-Identifier: Apache-2.0
// A small mutex for the recorder's short critical sections, and the annotations with which clang's
// thread-safety analysis checks every lock of the library.
// Uncontended it costs one atomic exchange each way; contended it spins briefly, then sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__clang__)
#define STRANDLINE_ANNOTATE(x) __attribute__((x))
#else
#define STRANDLINE_ANNOTATE(x)
#endif
#define STRANDLINE_CAPABILITY(x) STRANDLINE_ANNOTATE(capability(x))
#define STRANDLINE_SCOPED_CAPABILITY STRANDLINE_ANNOTATE(scoped_lockable)
#define STRANDLINE_GUARDED_BY(x) STRANDLINE_ANNOTATE(guarded_by(x))
#define STRANDLINE_REQUIRES(...) STRANDLINE_ANNOTATE(requires_capability(__VA_ARGS__))
#define STRANDLINE_ACQUIRE(...) STRANDLINE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define STRANDLINE_TRY_ACQUIRE(...) STRANDLINE_ANNOTATE(try_acquire_capability(__VA_ARGS__))
#define STRANDLINE_RELEASE(...) STRANDLINE_ANNOTATE(release_capability(__VA_ARGS__))
#define STRANDLINE_EXCLUDES(...) STRANDLINE_ANNOTATE(locks_excluded(__VA_ARGS__))
#define STRANDLINE_ASSERTS_HELD STRANDLINE_ANNOTATE(assert_capability(this))
#define STRANDLINE_NO_LOCK_ANALYSIS STRANDLINE_ANNOTATE(no_thread_safety_analysis)

namespace strandline {

class STRANDLINE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() noexcept STRANDLINE_ACQUIRE() {
    std::uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      lock_contended();
    }
  }

  bool try_lock() noexcept STRANDLINE_TRY_ACQUIRE(true) {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() noexcept STRANDLINE_RELEASE() {
    if (state_.exchange(kFree, std::memory_order_release) == kHeldWithWaiters) {
      state_.notify_one();
    }
  }

  /// Does nothing: says to the analysis, which takes a lambda for a function of its own, that the
  /// caller holds it.
  void assert_held() const noexcept STRANDLINE_ASSERTS_HELD {}

 private:
  // kFree -> kHeld -> kHeldWithWaiters; only the last needs a wake-up on release.
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kHeldWithWaiters = 2;
  static constexpr int kSpins = 100;

  void lock_contended() noexcept {
    for (int spin = 0; spin < kSpins; ++spin) {
      std::uint32_t expected = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return;
      }
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    while (state_.exchange(kHeldWithWaiters, std::memory_order_acquire) != kFree) {
      state_.wait(kHeldWithWaiters, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_{kFree};
};

class STRANDLINE_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) noexcept STRANDLINE_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~LockGuard() STRANDLINE_RELEASE() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace strandline
