// SPDX-License-Identifier: Apache-2.0
// FlatMap against std::unordered_map: the same operations, the same answers.
#include "strandline/core/flat_map.h"

#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

namespace strandline {
namespace {

// Keys of few distinct homes make long probe runs, in which backward-shift deletion can go wrong.
std::uint64_t key_from(std::mt19937_64& random, std::uint64_t range) {
  return (random() % range + 1) * 64;
}

void expect_same(const FlatMap<std::uint64_t>& map,
                 const std::unordered_map<std::uint64_t, std::uint64_t>& oracle) {
  ASSERT_EQ(map.size(), oracle.size());
  std::size_t visited = 0;
  map.for_each([&](std::uint64_t key, std::uint64_t value) {
    ++visited;
    const auto found = oracle.find(key);
    ASSERT_NE(found, oracle.end()) << key;
    EXPECT_EQ(value, found->second);
  });
  EXPECT_EQ(visited, oracle.size());
  for (const auto& [key, value] : oracle) {
    const std::uint64_t* found = map.find(key);
    ASSERT_NE(found, nullptr) << key;
    EXPECT_EQ(*found, value);
  }
}

void run_random_operations(std::uint64_t seed, std::uint64_t range, int operations) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", keys " << range);
  std::mt19937_64 random(seed);
  FlatMap<std::uint64_t> map;
  std::unordered_map<std::uint64_t, std::uint64_t> oracle;
  for (int i = 0; i < operations; ++i) {
    const std::uint64_t key = key_from(random, range);
    switch (random() % 4) {
      case 0:
      case 1:
        map[key] = random();
        oracle[key] = *map.find(key);
        break;
      case 2:
        ASSERT_EQ(map.erase(key), oracle.erase(key) == 1) << "operation " << i;
        break;
      default:
        ASSERT_EQ(map.find(key) != nullptr, oracle.contains(key)) << "operation " << i;
    }
    if (i % 50'000 == 0) expect_same(map, oracle);
  }
  expect_same(map, oracle);
}

TEST(FlatMap, AnswersAsUnorderedMapOverAMillionRandomOperations) {
  run_random_operations(1, 300, 200'000);
  run_random_operations(2, 5'000, 300'000);
  run_random_operations(3, 100'000, 500'000);
}

TEST(FlatMap, HasNothingUnderKeyZero) {
  FlatMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_FALSE(map.erase(0));
  map[64] = 7;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_FALSE(map.erase(0));
  EXPECT_EQ(map.size(), 1U);
  ASSERT_NE(map.find(64), nullptr);
  EXPECT_EQ(*map.find(64), 7);
}

TEST(FlatMap, MakesAValueByDefaultAndKeepsItWhenAskedAgain) {
  FlatMap<int> map;
  EXPECT_EQ(map[8], 0);
  map[8] = 5;
  EXPECT_EQ(map[8], 5);
  EXPECT_EQ(map.size(), 1U);
}

TEST(FlatMap, GivesItsMemoryBackWhenCleared) {
  FlatMap<int> map;
  const std::size_t fresh = map.memory_bytes();
  for (std::uint64_t key = 1; key <= 100'000; ++key) map[key] = 1;
  EXPECT_GT(map.memory_bytes(), 100 * fresh);
  map.clear();
  EXPECT_EQ(map.memory_bytes(), fresh);
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(5), nullptr);
  map[5] = 9;
  EXPECT_EQ(*map.find(5), 9);
}

TEST(FlatMap, KeepsEveryKeyWhenHomesCollide) {
  // Keys that share the low bits of their mixed value land in one run.
  FlatMap<std::uint64_t> map;
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 1; keys.size() < 40; ++key) {
    if ((mix_bits(key) & 63) >= 60) keys.push_back(key);  // the run wraps around the table's end
  }
  for (const std::uint64_t key : keys) map[key] = key;
  for (std::size_t gone = 0; gone < keys.size(); ++gone) {
    EXPECT_TRUE(map.erase(keys[gone]));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t* found = map.find(keys[i]);
      ASSERT_EQ(found != nullptr, i > gone) << i << " after removing " << gone;
      if (found != nullptr) {
        EXPECT_EQ(*found, keys[i]);
      }
    }
  }
}

}  // namespace
}  // namespace strandline
