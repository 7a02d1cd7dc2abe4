// SPDX-License-Identifier: Apache-2.0
// The lock excludes, also when its holder sleeps long enough for the others to sleep as well.
#include "alloc/state_lock.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

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
