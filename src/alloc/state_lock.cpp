// SPDX-License-Identifier: Apache-2.0
// The slow ways of the lock: the word, giving and taking the bias, waiting.
#include "alloc/state_lock.h"

#include <ctime>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace strandline::alloc {

constinit thread_local std::uint32_t t_lock_thread = 0;

namespace {

constexpr int kSpins = 60;
constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 200'000};

std::atomic<std::uint32_t> g_threads{0};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

bool register_barrier() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// Two threads may both ask; a child of a fork never waits for one.
bool has_barrier() noexcept {
  enum : int { unknown, has, has_not };
  static constinit std::atomic<int> known{unknown};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == unknown) {
    answer = register_barrier() ? has : has_not;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == has;
}

void barrier_on_all_cores() noexcept {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  // A forked child may have to register anew.
  if (register_barrier() && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) {
    return;
  }
  // It worked once and is refused now (a filter of system calls): no store stays unseen this long.
  const timespec long_enough{.tv_sec = 0, .tv_nsec = 10'000'000};
  nanosleep(&long_enough, nullptr);
}

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void StateLock::lock_word() noexcept {
  if (t_lock_thread == 0) {
    t_lock_thread = kOwners * (g_threads.fetch_add(1, std::memory_order_relaxed) + 1);
  }
  if (word_.exchange(1, std::memory_order_acquire) != 0) lock_contended();
  const std::uint32_t me = t_lock_thread;
  // It is not this thread's: then the word would not have been asked for.
  const std::uint32_t bias = bias_.load(std::memory_order_relaxed);
  if (bias != kNobody) revoke_bias(bias);
  if (last_ != me) {
    last_ = me;
    streak_ = 0;
  } else if (++streak_ >= kStreak && has_barrier()) {
    streak_ = 0;
    give_bias();
  }
}

void StateLock::give_bias() noexcept {
  for (std::uint32_t place = 0; place < kOwners; ++place) {
    if (owners_[place] == 0) owners_[place] = t_lock_thread;
    if (owners_[place] != t_lock_thread) continue;
    bias_.store(t_lock_thread + place, std::memory_order_relaxed);
    return;
  }
}

void StateLock::revoke_bias(std::uint32_t bias) noexcept {
  bias_.store(kNobody, std::memory_order_seq_cst);
  barrier_on_all_cores();
  const std::atomic<std::uint32_t>& inside = inside_[bias % kOwners];
  for (int spin = 0; inside.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < kSpins) {
      pause();
    } else {
      nanosleep(&kPatience, nullptr);
    }
  }
}

void StateLock::lock_contended() noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (word_.load(std::memory_order_relaxed) == 0 &&
        word_.exchange(1, std::memory_order_acquire) == 0) {
      return;
    }
    pause();
  }
  for (;;) {
    wake_is_due_.store(1, std::memory_order_seq_cst);
    if (word_.exchange(1, std::memory_order_seq_cst) == 0) break;
    futex(word_, FUTEX_WAIT_PRIVATE, 1, &kPatience);
  }
  // The flag stays as it is: others may sleep, and a wake for nobody costs one system call.
}

void StateLock::wake() noexcept {
  wake_is_due_.store(0, std::memory_order_relaxed);
  futex(word_, FUTEX_WAKE_PRIVATE, 1, nullptr);
}

}  // namespace strandline::alloc
