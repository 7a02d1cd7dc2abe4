// SPDX-License-Identifier: Apache-2.0
// The mutex under contention: what it guards must read as if one thread had written it.
#include "strandline/core/mutex.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace strandline {
namespace {

TEST(Mutex, LetsOneThreadInAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50'000;
  Mutex mutex;
  std::uint64_t counter = 0;  // plain on purpose
  std::uint64_t mirror = 0;
  bool torn = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const LockGuard guard(mutex);
        torn = torn || counter != mirror;
        ++counter;
        if (i % 64 == 0) std::this_thread::yield();  // others meet a held mutex, and sleep
        ++mirror;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(counter, static_cast<std::uint64_t>(kThreads) * kRounds);
}

TEST(Mutex, WakesAThreadThatSleptOnIt) {
  Mutex mutex;
  std::atomic<bool> entered{false};
  mutex.lock();
  std::thread sleeper([&] {
    const LockGuard guard(mutex);
    entered = true;
  });
  for (int i = 0; i < 2'000; ++i) std::this_thread::yield();  // long past the spinning
  EXPECT_FALSE(entered);
  mutex.unlock();
  sleeper.join();  // hangs where the wake-up is lost
  EXPECT_TRUE(entered);
}

TEST(Mutex, RefusesTryLockWhileHeld) {
  Mutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  ASSERT_TRUE(mutex.try_lock());
  mutex.unlock();
}

}  // namespace
}  // namespace strandline
