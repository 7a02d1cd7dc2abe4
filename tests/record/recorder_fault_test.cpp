// SPDX-License-Identifier: Apache-2.0
// Faults inside the recorder and forks of the process: the program goes on, the recorder is off.
// A recorder that has failed stays off for the life of its process, so that each scenario runs in a
// process of its own: gtest starts this program anew, and it forks before its recorder is made.
#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strandline/core/error.h"
#include "strandline/record/adapter.h"
#include "strandline/record/recorder.h"
#include "support.h"

namespace {
// Calls of operator new on this thread until one fails; negative: none does.
thread_local int t_news_until_failure = -1;
}  // namespace

// Also serves the rest of this binary; unarmed it is malloc. Inlined, g++ 12 would take malloc and
// delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (t_news_until_failure >= 0 && t_news_until_failure-- == 0) throw std::bad_alloc();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace strandline::record {
namespace {

class RecorderFaults : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#define STRANDLINE_CHECK_OR_EXIT(condition)                                        \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                               \
    }                                                                              \
  } while (false)

// Not a static of the function: a forked child would wait for the thread that was making it.
const std::string& g_long_name = *new std::string("a name too long to lie inside of a string");

// Everything a program's own calls can reach, over enough lives to make every table grow.
void use_the_recorder(std::uint64_t rounds) {
  Recorder& r = recorder();
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    const std::uint64_t address = i * 64;
    r.note_alloc({.address = address, .size = 100, .requested = 90});
    r.bind(address, {i}, holder(1));
    r.bind(address, {i + 1'000'000}, holder(2));
    r.annotate(address, {3});
    if (i % 2 == 0) r.leave({i});
    if (i % 3 == 0) r.note_free({.address = address});
    r.note_segment(Action::cache_to_device, address, 1, {}, {}, 0);
    if (i % 8 == 0) r.end_phase(r.begin_phase(g_long_name));
    r.mark_snapshot();
  }
}

void expect_sums_hold(const Cut& cut) {
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  for (const LiveBlock& block : cut.live) {
    size += block.size;
    requested += block.requested;
  }
  STRANDLINE_CHECK_OR_EXIT(cut.active[0] == size);
  STRANDLINE_CHECK_OR_EXIT(cut.active[1] == requested);
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    std::uint64_t at_peak = 0;
    for (const LiveBlock& block : cut.peak_set[m]) at_peak += m == 0 ? block.size : block.requested;
    STRANDLINE_CHECK_OR_EXIT(cut.peak[m].bytes == at_peak);
  }
}

enum class Outcome { none_failed = 20, turned_off = 10, went_on = 30 };

// The n-th allocation inside the recorder fails. Recording goes on only where the allocation was a
// capture's: a stack that cannot be had is none.
Outcome fail_at(int n) {
  recorder().start({.max_entries = 1'000});
  use_the_recorder(0);  // makes the name
  t_news_until_failure = n;
  use_the_recorder(160);
  const bool failed = t_news_until_failure < 0;
  t_news_until_failure = -1;
  if (failed && recording()) {
    expect_sums_hold(recorder().cut());
    return Outcome::went_on;
  }
  const std::uint64_t live_before = recorder().cut().live.size();
  use_the_recorder(5);
  if (failed) {
    STRANDLINE_CHECK_OR_EXIT(!recording());
    STRANDLINE_CHECK_OR_EXIT(!tracking());
    STRANDLINE_CHECK_OR_EXIT(recorder().fault() == "std::bad_alloc");
    STRANDLINE_CHECK_OR_EXIT(recorder().cut().fault == "std::bad_alloc");
    STRANDLINE_CHECK_OR_EXIT(recorder().cut().live.size() == live_before);
    try {
      recorder().start();
      STRANDLINE_CHECK_OR_EXIT(false);  // start after a fault must throw
    } catch (const InternalError& error) {
      STRANDLINE_CHECK_OR_EXIT(std::string(error.what()).find("off for good; got std::bad_alloc") !=
                               std::string::npos);
    }
    STRANDLINE_CHECK_OR_EXIT(!recording());
  }
  expect_sums_hold(recorder().cut());
  return failed ? Outcome::turned_off : Outcome::none_failed;
}

void fail_at_every_allocation() {
  int failures = 0;
  int swallowed = 0;
  for (int n = 0;; ++n) {
    const pid_t child = fork();
    STRANDLINE_CHECK_OR_EXIT(child >= 0);
    if (child == 0) std::_Exit(static_cast<int>(fail_at(n)));
    int status = 0;
    STRANDLINE_CHECK_OR_EXIT(waitpid(child, &status, 0) == child);
    const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (outcome == static_cast<int>(Outcome::none_failed)) break;
    if (outcome == static_cast<int>(Outcome::went_on)) {
      STRANDLINE_CHECK_OR_EXIT(++swallowed <= 3);  // what a thread's first capture may need
      continue;
    }
    if (outcome != static_cast<int>(Outcome::turned_off)) {
      std::fprintf(stderr, "allocation %d: status %d\n", n, status);
      std::_Exit(2);
    }
    ++failures;
  }
  STRANDLINE_CHECK_OR_EXIT(failures > 10);  // the tables did grow
  std::_Exit(0);
}

TEST_F(RecorderFaults, TurnItOffAndNeverReachTheProgramWhicheverAllocationFails) {
  EXPECT_EXIT(fail_at_every_allocation(), testing::ExitedWithCode(0),
              "strandline: recording stopped by a fault of the recorder: std::bad_alloc");
}

void refuse_address_space() {
  recorder().start({.max_entries = 100});
  recorder().note_alloc({.address = 64, .size = 1, .requested = 1});
  const rlimit limit{.rlim_cur = 4ULL << 30, .rlim_max = 4ULL << 30};
  STRANDLINE_CHECK_OR_EXIT(setrlimit(RLIMIT_AS, &limit) == 0);
  try {
    recorder().start({.max_entries = 1ULL << 32});
    STRANDLINE_CHECK_OR_EXIT(false);  // 256 GiB in a process of 4 must be refused
  } catch (const OutOfMemory& error) {
    STRANDLINE_CHECK_OR_EXIT(error.requested == 64ULL << 32);
  }
  STRANDLINE_CHECK_OR_EXIT(recording());
  STRANDLINE_CHECK_OR_EXIT(recorder().cut().events.size() == 1);
  std::_Exit(0);
}

TEST_F(RecorderFaults, AreNoneWhereTheRingCannotBeHad) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space itself";
  EXPECT_EXIT(refuse_address_space(), testing::ExitedWithCode(0), "");
}

// -- forks
// ------------------------------------------------------------------------------------------

std::string name_some_native_code(std::uint64_t offset) {
  const auto code = reinterpret_cast<std::uint64_t>(&fork) + offset;
  return resolve_frame({.code = code, .source = kNativeSource}).function;
}

void use_everything_in_a_forked_child() {
  alarm(20);  // a lock that nobody holds any more would never be given
  STRANDLINE_CHECK_OR_EXIT(!recording());
  STRANDLINE_CHECK_OR_EXIT(!tracking());
  use_the_recorder(3);
  Recorder& r = recorder();
  try {
    r.start();
    STRANDLINE_CHECK_OR_EXIT(false);  // start in a forked child must throw
  } catch (const InternalError& error) {
    STRANDLINE_CHECK_OR_EXIT(std::string(error.what()).find("got a forked process") !=
                             std::string::npos);
  }
  STRANDLINE_CHECK_OR_EXIT(!recording());
  r.stop();
  r.reset_peak();
  r.options();
  r.counters();
  STRANDLINE_CHECK_OR_EXIT(r.fault().empty());
  r.cut();
  r.clear_history(Recorder::ClearTables::yes);
  r.flush_sinks();
  r.remove_sink(nullptr);
  STRANDLINE_CHECK_OR_EXIT(static_cast<bool>(r.tables().ops.intern("in the child")));
  STRANDLINE_CHECK_OR_EXIT(static_cast<bool>(r.tables().layouts.intern({}, Dtype::int8)));
  r.tables().streams.intern(77);
  const RawFrame frame{.code = 1};
  r.tables().tracebacks.insert({}, {&frame, 1}, false);
  unregister_state_provider(nullptr);
  STRANDLINE_CHECK_OR_EXIT(find_adapter("none") == nullptr && adapters().empty());
  STRANDLINE_CHECK_OR_EXIT(!name_some_native_code(0).empty());
  std::_Exit(0);
}

TEST_F(RecorderTest, IsOffInAForkedChildAndCountsTheForkWhileThreadsRecord) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers of g++ 12 leave their own locks to the child as they are";
  }
  constexpr int kForks = 20;
  start(1'000);
  const std::uint64_t forks_before = recorder().counters().forks;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!done) use_the_recorder(3);
  });
  threads.emplace_back([&] {
    std::int64_t extent = 0;
    while (!done) {
      recorder().cut();
      recorder().tables().layouts.intern({&++extent, 1}, Dtype::int8);
      recorder().tables().ops.intern(std::to_string(extent));
    }
  });
  threads.emplace_back([&] {
    for (std::uint64_t offset = 1; !done; ++offset) {
      name_some_native_code(offset);
      find_adapter("none");
    }
  });
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) use_everything_in_a_forked_child();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "fork " << i << (WIFSIGNALED(status) ? ": it hung" : "");
    if (status != 0) break;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(recording());
  EXPECT_EQ(recorder().counters().forks, forks_before + kForks);
}

}  // namespace
}  // namespace strandline::record
