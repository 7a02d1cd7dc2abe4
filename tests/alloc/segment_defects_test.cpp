// SPDX-License-Identifier: Apache-2.0
// The checklist, the public defects and the hazards of spec segment-allocator (segments_defects/):
// every scenario goes right with our decisions; with PyTorch's those go wrong that it has, and no
// others. What a fault brings about is seen in another build, segments_defects/switched_on.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/segments_defects/rows.h"

namespace strandline::alloc::defects {
namespace {

class SegmentDefects : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Rows, SegmentDefects, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(SegmentDefects, are_not_ours) {
  EXPECT_TRUE(GetParam().goes_right(Decisions::ours));
}

TEST_P(SegmentDefects, are_pytorchs_where_it_has_them) {
  EXPECT_EQ(GetParam().runs_right(Decisions::pytorch), !GetParam().is_pytorchs());
}

}  // namespace
}  // namespace strandline::alloc::defects
