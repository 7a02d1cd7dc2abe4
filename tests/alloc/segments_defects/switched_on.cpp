// SPDX-License-Identifier: Apache-2.0
// The build in which faults can be on: each row's scenario goes wrong with one of the decisions
// when its fault is, and right again when it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/segments_defects/rows.h"

namespace strandline::alloc::defects {
namespace {

std::vector<Row> rows_with_faults() {
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [](const Row& row) { return row.is_pytorchs(); });
  return rows;
}

class SegmentFaultsSwitchedOn : public testing::TestWithParam<Row> {
 protected:
  ~SegmentFaultsSwitchedOn() override { g_fault = Fault::none; }
};
INSTANTIATE_TEST_SUITE_P(Rows, SegmentFaultsSwitchedOn, testing::ValuesIn(rows_with_faults()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(SegmentFaultsSwitchedOn, make_the_row_fail) {
  const Row& row = GetParam();
  g_fault = std::get<Fault>(row.brought_about_by);
  EXPECT_FALSE(row.runs_right(Decisions::ours) && row.runs_right(Decisions::pytorch));
  g_fault = Fault::none;
  EXPECT_TRUE(row.runs_right(Decisions::ours));
}

}  // namespace
}  // namespace strandline::alloc::defects
