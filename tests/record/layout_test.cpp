// SPDX-License-Identifier: Apache-2.0
// Layouts: interning, text, and the cap.
#include "strandline/record/layout.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace strandline::record {
namespace {

constexpr std::uint64_t kRoomy = 64 << 20;
using Shape = std::vector<std::int64_t>;

TEST(LayoutTable, GivesEqualLayoutsEqualIdsAndReadsThemBack) {
  LayoutTable table(kRoomy);
  std::mt19937_64 random(17);
  std::map<std::pair<Shape, Dtype>, LayoutId> oracle;
  for (int i = 0; i < 50'000; ++i) {
    Shape shape(random() % 5);
    for (std::int64_t& extent : shape) extent = static_cast<std::int64_t>(random() % 8);
    const auto dtype = static_cast<Dtype>(random() % 16);
    const LayoutId id = table.intern(shape, dtype);
    ASSERT_TRUE(static_cast<bool>(id));
    const auto [known, added] = oracle.emplace(std::pair(shape, dtype), id);
    ASSERT_EQ(known->second, id);
  }
  std::set<std::uint32_t> distinct;
  for (const auto& [key, id] : oracle) {
    EXPECT_EQ(table.layout(id), (Layout{.shape = key.first, .dtype = key.second}));
    distinct.insert(id.value);
  }
  EXPECT_EQ(distinct.size(), oracle.size());
}

TEST(LayoutTable, TellsApartWhatOnlyDiffersInRankDtypeOrOrder) {
  LayoutTable table(kRoomy);
  std::set<std::uint32_t> ids;
  ids.insert(table.intern(Shape{}, Dtype::float32).value);
  ids.insert(table.intern(Shape{0}, Dtype::float32).value);
  ids.insert(table.intern(Shape{0, 0}, Dtype::float32).value);
  ids.insert(table.intern(Shape{}, Dtype::int32).value);
  ids.insert(table.intern(Shape{2, 3}, Dtype::float32).value);
  ids.insert(table.intern(Shape{3, 2}, Dtype::float32).value);
  ids.insert(table.intern(Shape{6}, Dtype::float32).value);
  EXPECT_EQ(ids.size(), 7U);
  EXPECT_FALSE(ids.contains(0));
}

TEST(LayoutTable, NeverGivesAnIdTwiceAlsoAfterClear) {
  LayoutTable table(kRoomy);
  std::set<std::uint32_t> given;
  for (int round = 0; round < 4; ++round) {
    LayoutId last;
    for (std::int64_t i = 0; i < 100; ++i) {
      last = table.intern(Shape{i, 2}, Dtype::int8);
      ASSERT_TRUE(given.insert(last.value).second);
    }
    table.clear();
    EXPECT_EQ(table.layout(last), Layout{});
  }
}

TEST(LayoutTable, RefusesPastItsCapCountsItAndTakesLayoutsAgainAfterClear) {
  LayoutTable table(5'000);
  std::int64_t accepted = 0;
  while (table.intern(Shape{accepted}, Dtype::int8) && accepted < 100'000) ++accepted;
  EXPECT_GT(accepted, 10);
  EXPECT_LT(accepted, 1'000);
  EXPECT_EQ(table.refused(), 1U);
  EXPECT_TRUE(static_cast<bool>(table.intern(Shape{0}, Dtype::int8)));
  EXPECT_FALSE(static_cast<bool>(table.intern(Shape{1, 1}, Dtype::int8)));
  EXPECT_EQ(table.refused(), 2U);
  table.clear();
  EXPECT_TRUE(static_cast<bool>(table.intern(Shape{1, 1}, Dtype::int8)));
}

TEST(LayoutTable, WritesShapesAsPythonDoes) {
  EXPECT_EQ(layout_text({.shape = {16, 512}, .dtype = Dtype::float32}), "(16, 512) float32");
  EXPECT_EQ(layout_text({.shape = {7}, .dtype = Dtype::bool_}), "(7,) bool");
  EXPECT_EQ(layout_text({.shape = {}, .dtype = Dtype::bfloat16}), "() bfloat16");
  EXPECT_EQ(layout_text({}), "() unknown");
}

TEST(Dtype, KnowsNamesAndSizes) {
  const std::map<std::string_view, std::pair<Dtype, std::uint32_t>> expected = {
      {"unknown", {Dtype::unknown, 0}},     {"bool", {Dtype::bool_, 1}},
      {"uint8", {Dtype::uint8, 1}},         {"uint16", {Dtype::uint16, 2}},
      {"uint32", {Dtype::uint32, 4}},       {"uint64", {Dtype::uint64, 8}},
      {"int8", {Dtype::int8, 1}},           {"int16", {Dtype::int16, 2}},
      {"int32", {Dtype::int32, 4}},         {"int64", {Dtype::int64, 8}},
      {"float16", {Dtype::float16, 2}},     {"bfloat16", {Dtype::bfloat16, 2}},
      {"float32", {Dtype::float32, 4}},     {"float64", {Dtype::float64, 8}},
      {"complex64", {Dtype::complex64, 8}}, {"complex128", {Dtype::complex128, 16}},
  };
  for (const auto& [name, facts] : expected) {
    EXPECT_EQ(dtype_name(facts.first), name);
    EXPECT_EQ(dtype_size_bytes(facts.first), facts.second) << name;
  }
  EXPECT_EQ(dtype_name(static_cast<Dtype>(200)), "unknown");
}

}  // namespace
}  // namespace strandline::record
