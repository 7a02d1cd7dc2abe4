// SPDX-License-Identifier: Apache-2.0
// The ring against a vector that keeps everything.
#include "strandline/record/event_ring.h"

#include <random>

#include <gtest/gtest.h>

#include "strandline/core/error.h"
#include "support.h"

namespace strandline::record {
namespace {

Event numbered(std::uint64_t number) {
  return {.address = number * 64,
          .size = number,
          .op = {static_cast<std::uint32_t>(number)},
          .action = Action::alloc_new};
}

// What a ring that keeps the last `capacity` of `all` since `start` should hold from `from` on.
std::vector<Event> expected(const std::vector<Event>& all, std::uint64_t capacity,
                            std::uint64_t start, std::uint64_t from) {
  const std::uint64_t next = all.size() + 1;
  const std::uint64_t first = std::max({from, start, next > capacity ? next - capacity : 1});
  return first >= next
             ? std::vector<Event>{}
             : std::vector<Event>(all.begin() + static_cast<std::ptrdiff_t>(first - 1), all.end());
}

TEST(EventRing, KeepsTheLastEventsThroughAHundredWraps) {
  for (const std::uint64_t capacity : {1ULL, 2ULL, 7ULL, 64ULL}) {
    EventRing ring(capacity);
    std::vector<Event> all;
    std::mt19937_64 random(capacity);
    for (std::uint64_t n = 1; n <= capacity * 100 + 3; ++n) {
      all.push_back(numbered(n));
      ASSERT_EQ(ring.append(all.back()), n);
      const std::uint64_t from = n - random() % std::min<std::uint64_t>(n, 2 * capacity);
      std::vector<Event> copy;
      ring.copy_since(from, copy);
      ASSERT_EQ(copy, expected(all, capacity, 1, from)) << n << " from " << from;
      ASSERT_EQ(ring.size(), std::min(n, capacity));
      ASSERT_EQ(ring.overwritten(), n - ring.size());
      for (std::uint64_t s = n > capacity + 1 ? n - capacity - 1 : 1; s <= n; ++s) {
        const Event* found = ring.find(s);
        ASSERT_EQ(found != nullptr, s + capacity > n) << s << " of " << n;
        if (found != nullptr) {
          ASSERT_EQ(*found, numbered(s));
        }
      }
      ASSERT_EQ(ring.find(n + 1), nullptr);
    }
  }
}

TEST(EventRing, ForgetsOnClearAndGoesOnCounting) {
  constexpr std::uint64_t kCapacity = 10;
  EventRing ring(kCapacity);
  std::vector<Event> all;
  std::uint64_t start = 1;
  for (const int run : {4, 10, 23, 1, 0, 35}) {
    for (int i = 0; i < run; ++i) {
      all.push_back(numbered(all.size() + 1));
      ring.append(all.back());
    }
    std::vector<Event> copy;
    ring.copy_since(0, copy);
    EXPECT_EQ(copy, expected(all, kCapacity, start, 0));
    EXPECT_EQ(ring.first_sequence(), ring.next_sequence() - copy.size());
    const std::uint64_t last = ring.next_sequence() - 1;
    ring.clear();
    start = ring.next_sequence();
    EXPECT_EQ(start, all.size() + 1);
    EXPECT_EQ(ring.size(), 0U);
    EXPECT_EQ(ring.overwritten(), 0U);
    EXPECT_EQ(ring.find(last), nullptr);
  }
}

TEST(EventRing, AppendsToWhatTheCallerHas) {
  EventRing ring(4);
  ring.append(numbered(1));
  std::vector<Event> out = {numbered(99)};
  ring.copy_since(1, out);
  EXPECT_EQ(out, (std::vector<Event>{numbered(99), numbered(1)}));
  ring.copy_since(2, out);
  EXPECT_EQ(out.size(), 2U);
}

TEST(EventRing, RefusesNoEntriesAndTooMany) {
  EXPECT_THROW(EventRing(0), InvalidArgument);
  EXPECT_THROW(EventRing((1ULL << 32) + 1), InvalidArgument);
  try {
    const EventRing ring(0);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[record_memory_events] max_entries; got 0, expected 1 to 2^32");
  }
}

TEST(EventRing, CommitsPagesOnlyWhenTheyAreWritten) {
  if (kSanitized) GTEST_SKIP() << "shadow memory is counted too";
  const std::uint64_t before = resident_bytes();
  EventRing ring(4'000'000);  // 256 MB of address space
  for (std::uint64_t n = 1; n <= 1'000; ++n) ring.append(numbered(n));
  EXPECT_LT(resident_bytes(), before + (8 << 20));
}

TEST(EventRing, GivesPagesBackOnClear) {
  if (kSanitized) GTEST_SKIP() << "shadow memory is counted too";
  EventRing ring(1'000'000);
  for (std::uint64_t n = 1; n <= 1'000'000; ++n) ring.append(numbered(n));
  const std::uint64_t full = resident_bytes();
  ring.clear();
  EXPECT_LT(resident_bytes() + (56 << 20), full);
}

TEST(Event, NamesEveryAction) {
  EXPECT_EQ(action_name(Action::none), "none");
  EXPECT_EQ(action_name(Action::alloc_new), "alloc_new");
  EXPECT_EQ(action_name(Action::release_external), "release_external");
  EXPECT_EQ(action_name(Action::alloc), "alloc");
  EXPECT_EQ(action_name(Action::free_completed), "free_completed");
  EXPECT_EQ(action_name(Action::segment_unmap), "segment_unmap");
  EXPECT_EQ(action_name(Action::oom), "oom");
  EXPECT_EQ(action_name(Action::holder), "holder");
  EXPECT_EQ(action_name(static_cast<Action>(200)), "unknown");
}

}  // namespace
}  // namespace strandline::record
