// SPDX-License-Identifier: Apache-2.0
// Random programs over a SegmentAllocator, streams, events, pools, settings, limits and faults,
// beside books that know what happens before what (segments_random/). A failure prints its seed and
// the shortest list of operations that still fails.
//
//   STRANDLINE_RANDOM_OPERATIONS   how many in all: 6*10^5, with STRANDLINE_FULL=1 6*10^6
//   STRANDLINE_RANDOM_SEED         the first seed; every program has the next one
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/random/quiet.h"
#include "alloc/segments_random/world.h"

namespace strandline::alloc::segments_random {
namespace {

constexpr std::size_t kProgramLength = 16'384;

// A device on which nothing is scarce, and one whose end programs meet, with faults and work that
// is done in another order; either way of deciding.
std::vector<Setting> all_settings() {
  sim::MachineOptions roomy;
  roomy.poisoned_bytes_kept = 1 << 20;
  sim::MachineOptions tight = roomy;
  tight.devices = {{.capacity_bytes = 256 << 20}};
  tight.interleaving = sim::Interleaving::seeded;
  const Mix scarce{.largest_bytes = 32 << 20, .faults_in_10000 = 0, .settings_in_10000 = 60};
  Mix faulty = scarce;
  faulty.faults_in_10000 = 100;
  return {{"ours", roomy, Decisions::ours, {}},
          {"ours_tight", tight, Decisions::ours, scarce},
          {"ours_faulty", tight, Decisions::ours, faulty},
          {"pytorch", roomy, Decisions::pytorch, {}},
          {"pytorch_tight", tight, Decisions::pytorch, scarce},
          {"pytorch_faulty", tight, Decisions::pytorch, faulty}};
}

std::optional<random::Failure> run(const Setting& setting, std::span<const Operation> program) {
  [[maybe_unused]] const random::Quiet quiet;
  World world(setting);
  return world.run(program);
}

class SegmentsRandom : public testing::TestWithParam<Setting> {};

TEST_P(SegmentsRandom, programs_agree_with_the_books) {
  const Setting& setting = GetParam();
  const std::uint64_t all =
      random::operations_in_all(random::kSlowdown == 1 ? 600'000 : 150'000, 6'000'000);
  const std::uint64_t share = all / all_settings().size() + 1;
  const std::uint64_t first = random::number_from("STRANDLINE_RANDOM_SEED", 1);
  for (std::uint64_t done = 0, seed = first; done < share; done += kProgramLength, ++seed) {
    const std::vector<Operation> program = Generator(seed, setting.mix).program(kProgramLength);
    const std::optional<random::Failure> failure = run(setting, program);
    ASSERT_FALSE(failure) << random::report(
        setting.name, seed, *failure, program,
        [&](std::span<const Operation> part) { return run(setting, part); });
  }
}

INSTANTIATE_TEST_SUITE_P(Random, SegmentsRandom, testing::ValuesIn(all_settings()),
                         [](const auto& one) { return one.param.name; });

// The test can fail: memory that the books do not know of, and a use that nobody told of.
TEST(SegmentsRandomTest, sees_a_block_that_is_not_the_programs) {
  Setting setting = all_settings().front();
  setting.sabotage = [](SegmentAllocator& allocator, std::size_t step) {
    if (step == 30) (void)allocator.malloc(64);
  };
  const std::vector<Operation> program = Generator(1, setting.mix).program(256);
  const std::optional<random::Failure> failure = run(setting, program);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->step, 30u) << failure->what;
}

TEST(SegmentsRandomTest, sees_bytes_handed_out_while_another_stream_uses_them) {
  for (Setting setting : all_settings()) {
    setting.tells_uses = false;
    const std::vector<Operation> program = Generator(1, setting.mix).program(kProgramLength);
    const std::optional<random::Failure> failure = run(setting, program);
    ASSERT_TRUE(failure) << setting.name;
    EXPECT_THAT(failure->what, testing::AnyOf(testing::HasSubstr("are in use by work"),
                                              testing::HasSubstr("is not pending any more")));
  }
}

TEST(PastUses, sees_bytes_that_another_stream_still_uses) {
  Order order;
  PastUses past;
  Positions uses = {};
  uses[1] = order.queue(1);
  past.add(1000, 100, uses, order);
  EXPECT_NO_THROW(past.check(900, 100, 0, order));
  EXPECT_NO_THROW(past.check(1100, 100, 0, order));
  EXPECT_NO_THROW(past.check(1000, 100, 1, order)) << "a stream is in order with itself";
  EXPECT_THROW(past.check(1099, 1, 0, order), random::Violation);
  order.record(0, 1);
  order.wait(2, 0);
  EXPECT_NO_THROW(past.check(1000, 100, 2, order)) << "it waited";
  EXPECT_THROW(past.check(1000, 100, 0, order), random::Violation);
  order.wait_for(0, 2);
  EXPECT_NO_THROW(past.check(1000, 100, 0, order)) << "it waited for one that waited";
  EXPECT_THROW(past.check(1000, 100, 3, order), random::Violation);
  order.finish(1, 1);
  EXPECT_NO_THROW(past.check(1000, 100, 3, order)) << "it is done";
}

}  // namespace
}  // namespace strandline::alloc::segments_random
