// SPDX-License-Identifier: Apache-2.0
// Packed columns against a vector of the same values.
#include "strandline/snapshot/packed_column.h"

#include <random>

#include <gtest/gtest.h>

#include "strandline/snapshot/columns.h"

namespace strandline::snapshot {
namespace {

TEST(PackedColumn, TakesNoRoomForValuesThatAreAllNone) {
  PackedColumn<StringId> column;
  for (int i = 0; i < 1000; ++i) column.push_back({});
  EXPECT_EQ(column.width(), 0U);
  EXPECT_EQ(column.size(), 1000U);
  EXPECT_EQ(column[999], StringId{});
}

TEST(PackedColumn, IsAsWideAsItsLargestValueNeeds) {
  PackedColumn<std::uint64_t> column;
  for (const auto& [value, width] : {std::pair<std::uint64_t, std::size_t>{0, 0},
                                     {255, 1},
                                     {256, 2},
                                     {65'535, 2},
                                     {65'536, 4},
                                     {UINT32_MAX, 4},
                                     {std::uint64_t{1} << 32, 8},
                                     {UINT64_MAX, 8},
                                     {1, 8}}) {
    column.push_back(value);
    EXPECT_EQ(column.width(), width) << "after " << value;
    EXPECT_EQ(column.back(), value);
  }
  EXPECT_EQ(column, (std::vector<std::uint64_t>{0, 255, 256, 65'535, 65'536, UINT32_MAX,
                                                std::uint64_t{1} << 32, UINT64_MAX, 1}));
}

TEST(PackedColumn, HoldsWhatAVectorHolds) {
  constexpr unsigned kSeed = 7;
  std::mt19937_64 random(kSeed);
  PackedColumn<std::uint64_t> column;
  std::vector<std::uint64_t> model;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    if (model.empty() || random() % 4 != 0) {
      column.push_back(value);
      model.push_back(value);
    } else {
      const std::size_t at = random() % model.size();
      column.set(at, value);
      model[at] = value;
    }
  }
  EXPECT_EQ(column, model);
  EXPECT_TRUE(std::equal(column.begin(), column.end(), model.begin(), model.end()));
  const PackedColumn<std::uint64_t> copy = column;
  column.set(0, model[0] + 1);
  EXPECT_EQ(copy, model);
  EXPECT_NE(copy, column);
  const PackedColumn<std::uint64_t> moved = std::move(column);
  EXPECT_EQ(moved[0], model[0] + 1);
}

TEST(PackedColumn, SpreadsToItsFullWidth) {
  PackedColumn<LayoutId> column;
  for (std::uint32_t i = 0; i < 300; ++i) column.push_back(LayoutId{i});
  const LayoutId* const values = column.spread();
  for (std::uint32_t i = 0; i < 300; ++i) EXPECT_EQ(values[i], LayoutId{i});
  EXPECT_EQ(column.width(), sizeof(LayoutId));
}

TEST(PackedColumn, KeepsItsValuesOverAReserve) {
  PackedColumn<std::uint16_t> column;
  column.reserve(10);
  column.push_back(300);
  column.reserve(10'000);
  EXPECT_EQ(column[0], 300);
}

}  // namespace
}  // namespace strandline::snapshot
