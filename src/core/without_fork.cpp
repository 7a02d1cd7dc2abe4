// SPDX-License-Identifier: Apache-2.0
// One word counts the threads inside; its high bit is set while a thread forks.
#include "strandline/core/without_fork.h"

#include <atomic>
#include <cstdint>

#include <pthread.h>
#include <time.h>

namespace strandline {
namespace {

constexpr std::uint32_t kForking = 1U << 31;
constinit std::atomic<std::uint32_t> g_inside{0};
STRANDLINE_FAST_TLS constinit thread_local std::uint32_t t_depth = 0;

void wait_a_little() noexcept {
  const timespec span{.tv_sec = 0, .tv_nsec = 20'000};
  nanosleep(&span, nullptr);
}

// The thread that forks may itself be inside.
std::uint32_t own() noexcept {
  return t_depth > 0 ? 1 : 0;
}

void before_fork() noexcept {
  // Another thread may be forking as well: one after the other.
  while ((g_inside.fetch_or(kForking, std::memory_order_acquire) & kForking) != 0) wait_a_little();
  while (g_inside.load(std::memory_order_acquire) != (kForking | own())) wait_a_little();
}

void after_fork() noexcept {
  g_inside.fetch_and(~kForking, std::memory_order_release);
}

const bool g_registered = pthread_atfork(&before_fork, &after_fork, &after_fork) == 0;

}  // namespace

WithoutFork::WithoutFork() noexcept {
  if (t_depth++ > 0) return;
  while ((g_inside.fetch_add(1, std::memory_order_acquire) & kForking) != 0) {
    g_inside.fetch_sub(1, std::memory_order_release);
    wait_a_little();
  }
}

WithoutFork::~WithoutFork() {
  if (--t_depth == 0) g_inside.fetch_sub(1, std::memory_order_release);
}

}  // namespace strandline
