// SPDX-License-Identifier: Apache-2.0
// A fork waits for the stretches that other threads are in, and its child is free to do the same.
#include "strandline/core/without_fork.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

namespace strandline {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr const char* kWhySkipped = "the sanitizers of g++ 12 keep no order over a fork of threads";

// Once a fork has been called on the main thread, a stretch that is not waited for would still be
// going on in the child.
struct Meeting {
  std::atomic<bool> inside{false};
  std::atomic<bool> forking{false};
  std::atomic<int> progress{0};

  void stay() {
    progress = 1;
    inside = true;
    while (!forking) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    progress = 2;
  }
  // What `in_child` returns, by the exit status; -1 for a child that did not end by itself.
  template <typename InChild>
  int fork_inside(InChild&& in_child) {
    while (!inside) std::this_thread::yield();
    forking = true;
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      _exit(in_child());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

int visit_nothing(dl_phdr_info*, std::size_t, void*) {
  return 1;
}

TEST(WithoutFork, A_fork_waits_for_a_stretch_on_another_thread) {
  if (kSanitized) GTEST_SKIP() << kWhySkipped;
  Meeting meeting;
  std::thread other([&] {
    const WithoutFork outer;
    { const WithoutFork nested; }
    meeting.stay();
  });
  const int seen = meeting.fork_inside([&] {
    const WithoutFork free_again;
    return meeting.progress.load();
  });
  other.join();
  EXPECT_EQ(seen, 2);
}

TEST(WithoutFork, A_child_finds_the_loaders_list_free) {
  if (kSanitized) GTEST_SKIP() << kWhySkipped;
  Meeting meeting;
  std::thread other([&] {
    const WithoutFork stretch;
    dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* data) {
          static_cast<Meeting*>(data)->stay();
          return 1;
        },
        &meeting);
  });
  EXPECT_EQ(meeting.fork_inside([] { return dl_iterate_phdr(&visit_nothing, nullptr); }), 1);
  other.join();
}

TEST(WithoutFork, A_thread_may_fork_in_its_own_stretch) {
  const WithoutFork stretch;
  const pid_t child = fork();
  if (child == 0) {
    const WithoutFork nested;
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(WithoutFork, Threads_that_fork_at_once_take_turns) {
  if (kSanitized) GTEST_SKIP() << kWhySkipped;
  std::atomic<int> ended{0};
  const auto fork_some = [&] {
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      int status = 0;
      waitpid(child, &status, 0);
      if (status == 0) ++ended;
      const WithoutFork stretch;
    }
  };
  std::thread other(fork_some);
  fork_some();
  other.join();
  EXPECT_EQ(ended, 40);
}

}  // namespace
}  // namespace strandline
