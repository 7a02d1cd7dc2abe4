// SPDX-License-Identifier: Apache-2.0
// The event clock against CLOCK_REALTIME, which it must reproduce within a millisecond.
#include "strandline/core/clock.h"

#include <cmath>
#include <ctime>

#include <gtest/gtest.h>

namespace strandline {
namespace {

std::int64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void spin_for_ns(std::int64_t span) {
  const std::int64_t end = realtime_ns() + span;
  while (realtime_ns() < end) {
  }
}

// A reading of both clocks, repeated until no preemption fell between its halves.
struct Sample {
  std::uint64_t ticks = 0;
  std::int64_t unix_ns = 0;
};
Sample sample() {
  for (;;) {
    const std::int64_t before = realtime_ns();
    const std::uint64_t ticks = clock_ticks();
    const std::int64_t after = realtime_ns();
    if (after - before < 100'000) return {ticks, before};
  }
}

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(Clock, TicksNeverGoBackOnAThread) {
  std::uint64_t last = clock_ticks();
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t now = clock_ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, ConvertsTicksToUnixTimeWithinAMillisecond) {
  const ClockAnchor first = clock_anchor();
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) {
    samples.push_back(sample());
    spin_for_ns(2 * kMillisecond);
  }
  const ClockConversion conversion(first, clock_anchor());
  for (const Sample& seen : samples) {
    EXPECT_LT(std::abs(conversion.unix_ns(seen.ticks) - seen.unix_ns), kMillisecond);
    EXPECT_EQ(conversion.unix_us(seen.ticks), conversion.unix_ns(seen.ticks) / 1000);
  }
}

TEST(Clock, ConvertsByItsNominalRateWhenTheAnchorsLieTogether) {
  const ClockAnchor anchor = clock_anchor();
  const ClockConversion conversion(anchor, anchor);
  spin_for_ns(20 * kMillisecond);
  const Sample seen = sample();
  EXPECT_GT(seen.unix_ns - anchor.unix_ns, 15 * kMillisecond);
  EXPECT_LT(std::abs(conversion.unix_ns(seen.ticks) - seen.unix_ns), kMillisecond);
}

TEST(Clock, ConvertsTicksFromBeforeTheFirstAnchor) {
  const Sample early = sample();
  spin_for_ns(5 * kMillisecond);
  const ClockAnchor first = clock_anchor();
  spin_for_ns(5 * kMillisecond);
  const ClockConversion conversion(first, clock_anchor());
  EXPECT_LT(std::abs(conversion.unix_ns(early.ticks) - early.unix_ns), kMillisecond);
}

TEST(Clock, GivesAnchorsOfThisMoment) {
  const std::int64_t before = realtime_ns();
  const ClockAnchor anchor = clock_anchor();
  const std::int64_t after = realtime_ns();
  EXPECT_GE(anchor.unix_ns, before);
  EXPECT_LE(anchor.unix_ns, after);
}

}  // namespace
}  // namespace strandline
