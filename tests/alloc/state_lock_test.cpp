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
