// SPDX-License-Identifier: Apache-2.0
// The lock excludes, also when its holder sleeps long enough for the others to sleep as well.
#include "alloc/state_lock.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

namespace strandline::alloc {
namespace {

TEST(StateLock, lets_one_in_at_a_time) {
  StateLock lock;
  std::uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50'000; ++i) {
        const StateGuard guard(lock);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 200'000u);
}

/// One thread's long streaks bias the lock to it; the other takes the bias away, again and again.
TEST(StateLock, excludes_while_its_bias_is_given_and_taken) {
  StateLock lock;
  std::uint64_t counter = 0;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> by_owner{0};
  std::thread owner([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const StateGuard guard(lock);
      ++counter;
      by_owner.store(by_owner.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  });
  constexpr std::uint64_t kTaken = 200;
  for (std::uint64_t i = 0; i < kTaken; ++i) {
    const std::uint64_t before = by_owner.load();
    {
      const StateGuard guard(lock);
      ++counter;
    }
    while (by_owner.load() < before + 1500) std::this_thread::yield();  // a streak of the other
  }
  stop = true;
  owner.join();
  EXPECT_EQ(counter, by_owner.load() + kTaken);
}

TEST(StateLock, wakes_those_who_wait_for_a_biased_holder) {
  StateLock lock;
  for (int i = 0; i < 2000; ++i) {
    const StateGuard guard(lock);
  }
  int entered = 0;
  std::atomic<bool> waiting{false};
  lock.lock();
  std::thread other([&] {
    waiting = true;
    const StateGuard guard(lock);
    ++entered;
  });
  while (!waiting.load()) std::this_thread::yield();
  EXPECT_EQ(entered, 0);
  lock.unlock();
  other.join();
  const StateGuard guard(lock);
  EXPECT_EQ(entered, 1);
}

// -- a thread interrupted between seeing its bias and saying that it is inside
// ------------------------------------------------------------------------------------------

constexpr std::uint64_t kStreakAndMore = 1'200;  // what another thread gets the bias by
std::atomic<bool> g_is_interrupted{false};
std::atomic<std::uint64_t> g_by_the_other{0};

// Stays until the other thread has the bias; not forever, since the interrupted may hold the lock.
void stay_for_a_streak(int) {
  g_by_the_other = 0;
  g_is_interrupted = true;
  for (int i = 0; i < 3'000 && g_by_the_other.load() < kStreakAndMore; ++i) sched_yield();
}

TEST(StateLock, excludes_a_thread_that_was_interrupted_on_its_way_in) {
  struct sigaction before = {};
  struct sigaction stay = {};
  stay.sa_handler = &stay_for_a_streak;
  ASSERT_EQ(sigaction(SIGUSR1, &stay, &before), 0);
  StateLock lock;
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> by_the_interrupted{0};
  std::atomic<bool> stop{false};
  std::thread interrupted([&] {
    while (!stop) {
      {
        const StateGuard guard(lock);
        inside.store(1, std::memory_order_relaxed);
      }
      by_the_interrupted.store(by_the_interrupted.load(std::memory_order_relaxed) + 1,
                               std::memory_order_relaxed);
    }
  });
  const auto enter_for = [&](int rounds) {
    const StateGuard guard(lock);
    inside.store(2);
    for (int i = 0; i < rounds; ++i) {
      if (inside.load() != 2) return false;
    }
    return true;
  };
  int met = 0;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t had = by_the_interrupted;
    while (by_the_interrupted < had + kStreakAndMore) sched_yield();
    g_is_interrupted = false;
    pthread_kill(interrupted.native_handle(), SIGUSR1);
    while (!g_is_interrupted) sched_yield();
    for (std::uint64_t n = 0; n < kStreakAndMore; ++n, ++g_by_the_other) enter_for(0);
    for (int n = 0; n < 5; ++n) met += enter_for(20'000) ? 0 : 1;  // while the other comes back
  }
  stop = true;
  interrupted.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(met, 0);
}

TEST(StateLock, wakes_those_who_sleep) {
  StateLock lock;
  std::atomic<int> waiting{0};
  int entered = 0;
  std::vector<std::thread> threads;
  lock.lock();
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      ++waiting;
      const StateGuard guard(lock);
      ++entered;
    });
  }
  while (waiting.load() < 3) std::this_thread::yield();
  EXPECT_EQ(entered, 0);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered, 3);
}

}  // namespace
}  // namespace strandline::alloc
