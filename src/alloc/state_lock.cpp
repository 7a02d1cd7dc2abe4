// SPDX-License-Identifier: Apache-2.0
// Waiting for the lock: a short spin, then sleeps that end by themselves.
#include "alloc/state_lock.h"

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace strandline::alloc {
namespace {

constexpr int kSpins = 60;
constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 200'000};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void StateLock::lock_contended() noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (state_.load(std::memory_order_relaxed) == 0 &&
        state_.exchange(1, std::memory_order_acquire) == 0) {
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (state_.exchange(1, std::memory_order_acquire) != 0) {
    futex(state_, FUTEX_WAIT_PRIVATE, 1, &kPatience);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void StateLock::wake() noexcept {
  futex(state_, FUTEX_WAKE_PRIVATE, 1, nullptr);
}

}  // namespace strandline::alloc
