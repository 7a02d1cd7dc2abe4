// SPDX-License-Identifier: Apache-2.0
// The traceback table against a plain map from stacks to ids, under one thread and many.
#include "strandline/record/traceback.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "support.h"

namespace strandline::record {
namespace {

constexpr std::uint64_t kRoomy = 256 << 20;
using Stack = std::vector<RawFrame>;

Stack stack_of(std::initializer_list<std::uint64_t> codes) {
  Stack frames;
  for (const std::uint64_t code : codes) {
    frames.push_back({.code = code, .offset = static_cast<std::uint32_t>(code % 10)});
  }
  return frames;
}

Stack numbered_stack(std::uint64_t number) {
  return stack_of({number + 1'000, number % 97 + 500, number % 7 + 100, 1});
}

Fingerprint key_of(const Stack& frames) {
  return fingerprint_of(frames, false);
}

TracebackId enter(TracebackTable& table, const Stack& frames, bool truncated = false) {
  return table.insert(fingerprint_of(frames, truncated), frames, truncated);
}

// Stacks that differ in their two innermost frames only: few distinct codes, close together as heap
// addresses are, and small offsets.
TEST(Fingerprint, TellsEveryTwoOf200000AlikeStacksApartByEitherHalf) {
  constexpr std::uint64_t kStacks = 200'000;
  std::vector<std::uint64_t> lows;
  std::vector<std::uint64_t> highs;
  for (std::uint64_t i = 0; i < kStacks; ++i) {
    Fingerprint fingerprint;
    for (const std::uint64_t frame : {i % 1'024, i / 1'024, std::uint64_t{5}}) {
      fingerprint.add(0x7F0000000000 + frame % 32 * 176,
                      static_cast<std::uint32_t>(frame / 32) * 2);
    }
    lows.push_back(fingerprint.low);
    highs.push_back(fingerprint.high);
  }
  for (std::vector<std::uint64_t>* half : {&lows, &highs}) {
    std::ranges::sort(*half);
    EXPECT_EQ(std::ranges::adjacent_find(*half), half->end());
  }
}

TEST(Fingerprint, TellsAFrameFromOneOfAnotherSourceWithTheSameNumbers) {
  const Stack language{{.code = 0x7F0000001230, .offset = 0, .source = 0}};
  const Stack other{{.code = 0x7F0000001230, .offset = 0, .source = 1}};
  const Stack native{{.code = 0x7F0000001230, .offset = 0, .source = kNativeSource}};
  EXPECT_NE(key_of(language), key_of(other));
  EXPECT_NE(key_of(language), key_of(native));
  EXPECT_NE(key_of(other), key_of(native));
  TracebackTable table(1 << 24);
  EXPECT_NE(enter(table, language), enter(table, native));
  EXPECT_EQ(table.frames(enter(table, native)), native);
}

TEST(Fingerprint, DependsOnTheOrderOfFramesAndNothingElse) {
  EXPECT_EQ(key_of(stack_of({1, 2, 3})), key_of(stack_of({1, 2, 3})));
  EXPECT_NE(key_of(stack_of({1, 2, 3})), key_of(stack_of({3, 2, 1})));
  EXPECT_NE(key_of(stack_of({1, 2})), key_of(stack_of({1, 2, 3})));
}

TEST(TracebackTable, GivesEqualStacksEqualIdsAndReadsTheirFramesBack) {
  TracebackTable table(kRoomy);
  std::mt19937_64 random(3);
  std::map<std::uint64_t, TracebackId> oracle;
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t number = random() % 20'000;
    const Stack frames = numbered_stack(number);
    const TracebackId found = table.find(key_of(frames));
    ASSERT_EQ(static_cast<bool>(found), oracle.contains(number));
    const TracebackId id = enter(table, frames);
    ASSERT_TRUE(static_cast<bool>(id));
    const auto [known, added] = oracle.emplace(number, id);
    ASSERT_EQ(known->second, id);
  }
  std::set<std::uint32_t> distinct;
  for (const auto& [number, id] : oracle) {
    EXPECT_EQ(table.frames(id), numbered_stack(number));
    EXPECT_EQ(table.depth(id), 4U);
    EXPECT_FALSE(table.truncated(id));
    distinct.insert(id.value);
  }
  EXPECT_EQ(distinct.size(), oracle.size());
}

TEST(TracebackTable, NamesAnInnerStackAndItsOuterPartApart) {
  TracebackTable table(kRoomy);
  const TracebackId outer = enter(table, stack_of({2, 1}));
  const TracebackId inner = enter(table, stack_of({3, 2, 1}));
  EXPECT_NE(outer, inner);
  EXPECT_EQ(table.frames(outer), stack_of({2, 1}));
  EXPECT_EQ(table.frames(inner), stack_of({3, 2, 1}));
}

TEST(TracebackTable, HasNoIdForAnEmptyStackAndNoFramesForNone) {
  TracebackTable table(kRoomy);
  EXPECT_FALSE(static_cast<bool>(enter(table, {})));
  EXPECT_TRUE(table.frames({}).empty());
  EXPECT_TRUE(table.frames({4711}).empty());
  EXPECT_FALSE(static_cast<bool>(table.forward({4711})));
}

TEST(TracebackTable, MarksAndCountsTruncatedStacks) {
  TracebackTable table(kRoomy);
  const TracebackId cut_off = enter(table, stack_of({5, 4}), true);
  EXPECT_TRUE(table.truncated(cut_off));
  EXPECT_TRUE(table.truncated(table.pair(cut_off, enter(table, stack_of({9})))));
  EXPECT_EQ(table.frames(cut_off), stack_of({5, 4}));
  EXPECT_EQ(table.truncated_count(), 1U);
  EXPECT_EQ(enter(table, stack_of({5, 4}), true), cut_off);
  EXPECT_EQ(table.truncated_count(), 1U);
}

TEST(TracebackTable, PairsACallingAndAForwardStack) {
  TracebackTable table(kRoomy);
  const TracebackId calling = enter(table, stack_of({2, 1}));
  const TracebackId forward = enter(table, stack_of({4, 1}));
  const TracebackId pair = table.pair(calling, forward);
  EXPECT_NE(pair, calling);
  EXPECT_EQ(table.pair(calling, forward), pair);
  EXPECT_NE(table.pair(forward, calling), pair);
  EXPECT_EQ(table.frames(pair), stack_of({2, 1}));
  EXPECT_EQ(table.calling(pair), calling);
  EXPECT_EQ(table.forward(pair), forward);
  EXPECT_EQ(table.frames(table.forward(pair)), stack_of({4, 1}));
  EXPECT_EQ(table.calling(calling), calling);
  EXPECT_FALSE(static_cast<bool>(table.forward(calling)));
}

TEST(TracebackTable, NeverNestsPairs) {
  TracebackTable table(kRoomy);
  const TracebackId a = enter(table, stack_of({1}));
  const TracebackId b = enter(table, stack_of({2}));
  const TracebackId c = enter(table, stack_of({3}));
  const TracebackId ab = table.pair(a, b);
  EXPECT_EQ(table.pair(ab, c), table.pair(a, c)) << "the calling part of a pair is taken";
  EXPECT_EQ(table.pair(c, ab), table.pair(c, a));
  EXPECT_EQ(table.pair(a, {}), a);
  const TracebackId of_none = table.pair({}, b);
  EXPECT_TRUE(table.frames(of_none).empty());
  EXPECT_EQ(table.forward(of_none), b);
}

TEST(TracebackTable, SplicesTheTracedInnerFramesOntoTheCallingStack) {
  TracebackTable table(kRoomy);
  // First call, traced at main(1) → step(2): the function's own frames are 8 and 7.
  const TracebackId traced = enter(table, stack_of({8, 7, 2, 1}));
  const TracebackId calling = enter(table, stack_of({3, 1}));
  const TracebackId replayed = table.splice(calling, traced, 2);
  EXPECT_EQ(table.frames(replayed), stack_of({8, 7, 3, 1}));
  EXPECT_EQ(table.splice(calling, traced, 2), replayed);
  EXPECT_EQ(table.splice({}, traced, 2), traced);
  EXPECT_EQ(table.splice(calling, {}, 2), calling);
}

TEST(TracebackTable, SplicesTheSameStacksAtAnotherDepthAnew) {
  TracebackTable table(kRoomy);
  const TracebackId traced = enter(table, stack_of({8, 7, 2, 1}));
  const TracebackId calling = enter(table, stack_of({3, 1}));
  EXPECT_EQ(table.frames(table.splice(calling, traced, 2)), stack_of({8, 7, 3, 1}));
  EXPECT_EQ(table.frames(table.splice(calling, traced, 3)), stack_of({8, 3, 1}));
  EXPECT_EQ(table.frames(table.splice(calling, traced, 2)), stack_of({8, 7, 3, 1}));
  EXPECT_EQ(table.splice(calling, traced, 99), calling);
}

TEST(TracebackTable, KeepsForwardPartsWhenSplicing) {
  TracebackTable table(kRoomy);
  const TracebackId traced = enter(table, stack_of({8, 2, 1}));
  const TracebackId calling = enter(table, stack_of({3, 1}));
  const TracebackId forward = enter(table, stack_of({6, 1}));
  const TracebackId spliced = table.splice(calling, table.pair(traced, forward), 2);
  EXPECT_EQ(table.frames(spliced), stack_of({8, 3, 1}));
  EXPECT_EQ(table.forward(spliced), forward);
}

TEST(TracebackTable, CutsASpliceAtTheMostFrames) {
  TracebackTable table(kRoomy);
  Stack deep;
  for (std::uint64_t i = 0; i < kMaxFrames; ++i) deep.push_back({.code = 10'000 - i});
  const TracebackId traced = enter(table, deep);
  const TracebackId spliced = table.splice(enter(table, stack_of({3, 1})), traced, 1);
  EXPECT_EQ(table.depth(spliced), kMaxFrames);
  EXPECT_TRUE(table.truncated(spliced));
  EXPECT_EQ(table.frames(spliced).front(), deep.front());
}

TEST(TracebackTable, NeverGivesAnIdTwiceAlsoAfterClear) {
  TracebackTable table(kRoomy);
  std::set<std::uint32_t> given;
  for (int round = 0; round < 4; ++round) {
    TracebackId last;
    for (std::uint64_t i = 0; i < 300; ++i) {
      last = enter(table, numbered_stack(i));
      ASSERT_TRUE(given.insert(last.value).second) << "round " << round;
    }
    const TracebackId pair = table.pair(last, enter(table, numbered_stack(0)));
    ASSERT_TRUE(given.insert(pair.value).second);
    table.clear();
    EXPECT_FALSE(static_cast<bool>(table.find(key_of(numbered_stack(299)))));
    EXPECT_TRUE(table.frames(last).empty()) << "a stale id reads as none";
    EXPECT_FALSE(static_cast<bool>(table.forward(pair)));
  }
}

TEST(TracebackTable, RefusesPastItsCapCountsItAndTakesStacksAgainAfterClear) {
  TracebackTable table(400'000);
  std::uint64_t accepted = 0;
  while (enter(table, numbered_stack(accepted)) && accepted < 1'000'000) ++accepted;
  EXPECT_GT(accepted, 100U);
  EXPECT_LT(accepted, 50'000U);
  EXPECT_EQ(table.refused(), 1U);
  EXPECT_TRUE(static_cast<bool>(enter(table, numbered_stack(0)))) << "known ones are still found";
  const TracebackId first = enter(table, numbered_stack(0));
  const TracebackId second = enter(table, numbered_stack(1));
  EXPECT_EQ(table.pair(first, second), first) << "a pair past the cap is its calling part";
  EXPECT_EQ(table.refused(), 2U);
  for (int round = 0; round < 3; ++round) {
    table.clear();
    for (std::uint64_t i = 0; i + 1 < accepted; ++i) {
      ASSERT_TRUE(static_cast<bool>(enter(table, numbered_stack(i)))) << i << " in " << round;
    }
  }
}

TEST(TracebackTable, KeepsItsMemoryBoundedThroughManyClears) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  TracebackTable table(kRoomy);
  const auto fill_and_clear = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (std::uint64_t i = 0; i < 20'000; ++i) enter(table, numbered_stack(i));
      table.clear();
    }
  };
  fill_and_clear(3);
  const std::uint64_t before = resident_bytes();
  fill_and_clear(60);
  EXPECT_LT(resident_bytes(), before + (16 << 20));
}

// Finders run without a lock while others insert and clear: whatever they find must be the stack
// they asked for, or, from before a clear, nothing.
TEST(TracebackTable, FindsOnlyWhatWasAskedForWhileOthersInsertAndClear) {
  constexpr std::uint64_t kStacks =
      6'000;  // beyond the first size of the table: it grows meanwhile
  constexpr int kRounds = kSanitized ? 4 : 20;
  TracebackTable table(kRoomy);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> wrong{0};
  const auto look = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!done) {
      const Stack frames = numbered_stack(random() % kStacks);
      const TracebackId id = table.find(key_of(frames));
      if (!id) continue;
      ++hits;
      const Stack read = table.frames(id);
      if (!read.empty() && read != frames) ++wrong;
    }
  };
  std::thread first_finder(look, 1);
  std::thread second_finder(look, 2);
  const auto insert = [&](std::uint64_t offset) {
    for (std::uint64_t i = 0; i < kStacks; ++i)
      enter(table, numbered_stack((i + offset) % kStacks));
  };
  for (int round = 0; round < kRounds; ++round) {
    std::thread other(insert, kStacks / 2);
    insert(0);
    other.join();
    for (std::uint64_t i = 0; i < kStacks; ++i) {
      ASSERT_EQ(table.frames(table.find(key_of(numbered_stack(i)))), numbered_stack(i));
    }
    table.clear();
  }
  done = true;
  first_finder.join();
  second_finder.join();
  EXPECT_GT(hits, 0U);
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace strandline::record
