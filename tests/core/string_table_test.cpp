// SPDX-License-Identifier: Apache-2.0
// Interning: equal texts, equal numbers; numbers are never given twice; the cap is counted.
#include "strandline/core/string_table.h"

#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace strandline {
namespace {

constexpr std::uint64_t kRoomy = 64 << 20;

std::string text_of(int i) {
  return "name " + std::to_string(i);
}

TEST(StringTable, GivesEqualTextsEqualNumbersAndReadsThemBack) {
  StringTable table(kRoomy);
  std::map<std::string, std::uint32_t> oracle;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = text_of(i * 7919 % 5'000);
    const std::uint32_t number = table.intern(text);
    ASSERT_NE(number, 0U);
    const auto [known, added] = oracle.emplace(text, number);
    ASSERT_EQ(known->second, number);
  }
  std::set<std::uint32_t> distinct;
  for (const auto& [text, number] : oracle) {
    EXPECT_EQ(table.text(number), text);
    distinct.insert(number);
  }
  EXPECT_EQ(distinct.size(), 5'000U);
}

TEST(StringTable, TakesTheEmptyTextForNone) {
  StringTable table(kRoomy);
  EXPECT_EQ(table.intern(""), 0U);
  EXPECT_EQ(table.text(0), "");
  EXPECT_EQ(table.text(12345), "");
  EXPECT_EQ(table.memory_bytes(), 0U);
}

TEST(StringTable, KeepsATextWithNulBytesWhole) {
  StringTable table(kRoomy);
  const std::string with_nul("a\0b", 3);
  EXPECT_NE(table.intern(with_nul), table.intern("a"));
  EXPECT_EQ(table.text(table.intern(with_nul)), with_nul);
}

TEST(StringTable, NeverGivesANumberTwiceAlsoAfterClear) {
  StringTable table(kRoomy);
  std::set<std::uint32_t> given;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(given.insert(table.intern(text_of(i))).second) << "round " << round;
    }
    const std::uint32_t last = table.intern(text_of(99));
    table.clear();
    EXPECT_EQ(table.text(last), "") << "a stale number reads as none";
    EXPECT_EQ(table.memory_bytes(), 0U);
  }
}

TEST(StringTable, RefusesPastItsCapAndCountsEveryRefusal) {
  StringTable table(10'000);
  int accepted = 0;
  while (table.intern(text_of(accepted)) != 0) ++accepted;
  EXPECT_GT(accepted, 50);
  EXPECT_LE(table.memory_bytes(), 10'000U);
  EXPECT_EQ(table.refused(), 1U);
  EXPECT_EQ(table.intern("one more than fits in here"), 0U);
  EXPECT_EQ(table.refused(), 2U);
  EXPECT_NE(table.intern(text_of(0)), 0U) << "what is known is still found";
  EXPECT_EQ(table.refused(), 2U);
  table.clear();
  EXPECT_NE(table.intern("one more than fits in here"), 0U);
}

TEST(StringTable, AgreesAmongThreadsThatInternTheSameTexts) {
  constexpr int kThreads = 4;
  constexpr int kTexts = 2'000;
  StringTable table(kRoomy);
  std::vector<std::vector<std::uint32_t>> numbers(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTexts; ++i) {
        numbers[static_cast<std::size_t>(t)].push_back(table.intern(text_of(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(numbers[static_cast<std::size_t>(t)], numbers[0]);
  for (int i = 0; i < kTexts; ++i) {
    EXPECT_EQ(table.text(numbers[0][static_cast<std::size_t>(i)]), text_of(i));
  }
}

TEST(NameTable, WrapsNumbersInIdsOfItsKind) {
  NameTable<OpId> table(kRoomy);
  const OpId add = table.intern("Add");
  EXPECT_TRUE(static_cast<bool>(add));
  EXPECT_EQ(table.intern("Add"), add);
  EXPECT_EQ(table.text(add), "Add");
  EXPECT_FALSE(static_cast<bool>(table.intern("")));
}

}  // namespace
}  // namespace strandline
