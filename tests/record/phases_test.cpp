// SPDX-License-Identifier: Apache-2.0
// Phases: parents, peaks, the cap, and what clear leaves.
#include "strandline/record/phases.h"

#include <gtest/gtest.h>

namespace strandline::record {
namespace {

TEST(PhaseList, TakesTheInnermostOpenPhaseOfTheThreadForParent) {
  PhaseList list(10);
  const std::uint32_t step = list.begin("step", 1, 100, 1, 0);
  const std::uint32_t other = list.begin("loader", 2, 110, 2, 0);
  const std::uint32_t forward = list.begin("forward", 1, 120, 3, 0);
  list.end(forward, 130, 4, 0);
  const std::uint32_t backward = list.begin("backward", 1, 140, 5, 0);
  ASSERT_EQ(list.phases().size(), 4U);
  EXPECT_EQ(list.phases()[0].parent, 0U);
  EXPECT_EQ(list.phases()[1].parent, 0U) << "of another thread";
  EXPECT_EQ(list.phases()[2].parent, step);
  EXPECT_EQ(list.phases()[3].parent, step);
  EXPECT_NE(other, backward);
}

TEST(PhaseList, KeepsTimesSequencesAndActiveBytesOfBothEnds) {
  PhaseList list(10);
  const std::uint32_t number = list.begin("step", 4, 100, 7, 1'000);
  list.note_active(5'000);
  list.note_active(3'000);
  list.end(number, 200, 9, 2'000);
  list.note_active(9'000);
  const Phase expected{.name = "step",
                       .number = number,
                       .parent = 0,
                       .thread = 4,
                       .open = false,
                       .start_ticks = 100,
                       .end_ticks = 200,
                       .start_sequence = 7,
                       .end_sequence = 9,
                       .start_active = 1'000,
                       .end_active = 2'000,
                       .peak_active = 5'000};
  EXPECT_EQ(list.phases().at(0), expected);
}

TEST(PhaseList, StartsWithThePeakThatIsActiveAndRaisesItInEveryOpenPhase) {
  PhaseList list(10);
  const std::uint32_t outer = list.begin("outer", 1, 0, 1, 100);
  list.note_active(500);
  const std::uint32_t inner = list.begin("inner", 1, 0, 2, 200);
  list.note_active(400);
  EXPECT_EQ(list.phases()[0].peak_active, 500U);
  EXPECT_EQ(list.phases()[1].peak_active, 400U);
  list.end(outer, 1, 3, 0);
  list.note_active(900);
  EXPECT_EQ(list.phases()[0].peak_active, 500U);
  EXPECT_EQ(list.phases()[1].peak_active, 900U);
  list.end(inner, 1, 3, 0);
}

TEST(PhaseList, RefusesPastItsCapAndCounts) {
  PhaseList list(2);
  EXPECT_NE(list.begin("a", 1, 0, 1, 0), 0U);
  EXPECT_NE(list.begin("b", 1, 0, 1, 0), 0U);
  EXPECT_EQ(list.begin("c", 1, 0, 1, 0), 0U);
  EXPECT_EQ(list.refused(), 1U);
  list.end(0, 5, 5, 5);
  EXPECT_TRUE(list.phases()[0].open);
}

TEST(PhaseList, ForgetsAllButTheOpenPhasesOnClear) {
  PhaseList list(3);
  const std::uint32_t done = list.begin("done", 1, 0, 1, 0);
  const std::uint32_t open = list.begin("open", 1, 1, 1, 0);
  list.end(done, 2, 2, 0);
  list.begin("another", 2, 3, 3, 0);
  list.begin("refused", 2, 3, 3, 0);
  list.clear();
  ASSERT_EQ(list.phases().size(), 2U);
  EXPECT_EQ(list.phases()[0].name, "open");
  EXPECT_EQ(list.refused(), 0U);
  list.note_active(77);
  list.end(open, 9, 9, 5);
  EXPECT_FALSE(list.phases()[0].open);
  EXPECT_EQ(list.phases()[0].end_ticks, 9U);
  EXPECT_EQ(list.phases()[0].peak_active, 77U);
  EXPECT_TRUE(list.phases()[1].open);
  EXPECT_GT(list.begin("later", 1, 10, 10, 0), open) << "numbers go on";
}

TEST(PhaseList, IgnoresTheEndOfAPhaseItDoesNotKnow) {
  PhaseList list(3);
  const std::uint32_t number = list.begin("a", 1, 0, 1, 0);
  list.end(number + 5, 1, 1, 1);
  list.end(number, 2, 2, 2);
  list.end(number, 3, 3, 3);
  EXPECT_EQ(list.phases()[0].end_ticks, 2U) << "ends once";
}

}  // namespace
}  // namespace strandline::record
