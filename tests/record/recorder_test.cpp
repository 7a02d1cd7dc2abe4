// SPDX-License-Identifier: Apache-2.0
// The recorder through its public face: switching, min_size, wrapping, clearing, counters.
#include "strandline/record/recorder.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "strandline/core/error.h"
#include "support.h"

namespace strandline::record {
namespace {

TEST_F(RecorderTest, WritesOneEventForEachAllocAndFreeWithAllItsFields) {
  start();
  Recorder& r = recorder();
  const OpId op = r.tables().ops.intern("Add");
  const LabelId label = r.tables().labels.intern("weights");
  const OpContext context{.op = op, .traceback = {77}};
  {
    const OpScope scope(context);
    const LabelScope labelled(label);
    r.note_alloc({.action = Action::alloc_reuse,
                  .address = 4096,
                  .size = 512,
                  .requested = 500,
                  .owner = {3},
                  .stream = {4},
                  .pool = {5},
                  .device = 2});
  }
  r.note_free({.action = Action::free_to_cache, .address = 4096, .stream = {9}});
  const Cut cut = r.cut();
  ASSERT_EQ(cut.events.size(), 2U);
  Event expected{.address = 4096,
                 .size = 512,
                 .requested = 500,
                 .ticks = cut.events[0].ticks,
                 .traceback = {77},
                 .op = op,
                 .label = label,
                 .layout = {},
                 .owner = {3},
                 .stream = {4},
                 .pool = {5},
                 .thread = thread_number(),
                 .device = 2,
                 .action = Action::alloc_reuse};
  EXPECT_EQ(cut.events[0], expected);
  expected.action = Action::free_to_cache;
  expected.stream = {9};
  expected.ticks = cut.events[1].ticks;
  EXPECT_EQ(cut.events[1], expected) << "a free tells the block's own ids";
  EXPECT_LE(cut.events[0].ticks, cut.events[1].ticks);
  EXPECT_TRUE(cut.live.empty());
}

TEST_F(RecorderTest, KeepsOnlyAddressAndSizesWhileOff) {
  const OpContext context{.op = {5}, .traceback = {6}};
  const OpScope scope(context);
  alloc(64, 100);
  bind(64, 1, holder(10));
  EXPECT_EQ(recorder().begin_phase("off"), 0U);
  EXPECT_FALSE(recorder().annotate(64, {1}));
  recorder().mark_snapshot();
  recorder().note_segment(Action::segment_alloc, 4096, 4096, {}, {}, 0);
  recorder().note_oom(1, 2, {}, 0);
  const Cut cut = recorder().cut();
  EXPECT_TRUE(cut.events.empty());
  EXPECT_TRUE(cut.phases.empty());
  ASSERT_EQ(cut.live.size(), 1U);
  EXPECT_EQ(cut.live[0],
            (LiveBlock{.address = 64, .size = 100, .requested = 100, .thread = thread_number()}));
  EXPECT_EQ(recorder().active(), 100U);
}

TEST_F(RecorderTest, TakesMemoryFromBeforeRecordingForTheInitialStateNotForOrphans) {
  alloc(64, 100);
  alloc(128, 50);
  free(128);
  start();
  EXPECT_EQ(recorder().active(), 100U);
  free(64);
  const Cut cut = recorder().cut();
  ASSERT_EQ(cut.events.size(), 1U);
  EXPECT_EQ(cut.events[0].size, 100U);
  EXPECT_EQ(cut.counters.orphan_frees, 0U);
}

TEST_F(RecorderTest, CountsWhatIsLiveAtASwitchOnIntoThePeak) {
  start();
  alloc(64, 100);
  recorder().stop();
  alloc(128, 1'000);
  start();
  free(64);
  free(128);
  EXPECT_EQ(recorder().peak(), 1'100U);
  EXPECT_EQ(addresses_of(peak_set()), (std::vector<std::uint64_t>{64, 128}));
}

TEST_F(RecorderTest, KeepsEventsAfterAStopUntilTheyAreCleared) {
  start();
  alloc(64, 100);
  recorder().stop();
  alloc(128, 100);
  free(128);
  EXPECT_EQ(recorder().cut().events.size(), 1U);
  free(64);
  start();
  alloc(64, 100);
  EXPECT_EQ(recorder().cut().events.size(), 3U) << "the same ring goes on";
  EXPECT_EQ(recorder().counters().double_allocs, 0U);
  recorder().clear_history();
  EXPECT_TRUE(recorder().cut().events.empty());
  EXPECT_EQ(recorder().cut().live.size(), 1U);
}

TEST_F(RecorderTest, EndsWhileOffTheBlocksAndSegmentsThatTheRecordShows) {
  start();
  recorder().note_alloc({.address = 0x1000, .size = 64, .requested = 60});
  recorder().stop();
  recorder().note_alloc({.address = 0x2000, .size = 64, .requested = 64});
  recorder().note_free({.action = Action::free_to_cache, .address = 0x1000});
  recorder().note_free({.action = Action::free_to_cache, .address = 0x2000});
  recorder().note_segment(Action::cache_to_device, 0x1000, 64, {}, {}, 0);
  recorder().note_segment(Action::segment_alloc, 0x9000, 64, {}, {}, 0);
  EXPECT_EQ(actions_of(recorder().cut().events),
            (std::vector{Action::alloc_new, Action::free_to_cache, Action::cache_to_device}));
  recorder().clear_history();
  recorder().note_free({.action = Action::free_to_cache, .address = 0x1000});
  EXPECT_TRUE(recorder().cut().events.empty());
}

TEST_F(RecorderTest, NeverRepeatsASequenceNumberWhenTheRingIsReplaced) {
  start(100);
  alloc(64, 100);
  const std::uint64_t next = recorder().cut().next_sequence;
  start(200);
  EXPECT_GE(recorder().cut().next_sequence, next);
  EXPECT_TRUE(recorder().cut().events.empty());
  // The first block's event is gone; its binding must not complete another's.
  elsewhere([] { alloc(128, 200); });
  bind(64, 1, holder(10));
  const Cut cut = recorder().cut();
  ASSERT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new, Action::holder}));
  EXPECT_EQ(cut.events[0].address, 128U);
  EXPECT_EQ(cut.events[0].traceback, TracebackId{});
  EXPECT_EQ(cut.events[1].address, 64U);
}

TEST_F(RecorderTest, RefusesARingOfNoEntriesAndStaysAsItWas) {
  start(100);
  EXPECT_THROW(start(0), InvalidArgument);
  EXPECT_TRUE(recording());
  alloc(64, 1);
  EXPECT_EQ(recorder().cut().events.size(), 1U);
}

TEST_F(RecorderTest, DropsAllocAndFreeBelowMinSizeButKeepsTheBlockAndCounts) {
  start(1'000, 256);
  alloc(64, 255);
  alloc(512, 256);
  bind(64, 1, holder(10));
  leave(1);
  recorder().annotate(64, {1});
  Cut cut = recorder().cut();
  ASSERT_EQ(cut.events.size(), 1U);
  EXPECT_EQ(cut.events[0].address, 512U);
  ASSERT_EQ(cut.live.size(), 2U);
  EXPECT_TRUE(block_at(cut.live, 64)->hidden);
  EXPECT_EQ(cut.active[0], 511U) << "its bytes count";
  EXPECT_EQ(cut.peak[0].bytes, 511U);
  free(64);
  free(512);
  cut = recorder().cut();
  EXPECT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new, Action::free_to_device}));
  EXPECT_EQ(cut.counters.dropped_below_min_size, 2U);
  EXPECT_EQ(cut.counters.dropped_bytes, 255U);
  EXPECT_EQ(cut.counters.orphan_frees, 0U);
}

TEST_F(RecorderTest, CountsOrphanFreesDoubleAllocsAndUnknownBinds) {
  start();
  recorder().note_free({.address = 64, .size = 77});
  alloc(128, 10);
  alloc(128, 30);
  bind(999, 1, holder(1));
  const Cut cut = recorder().cut();
  EXPECT_EQ(cut.counters.orphan_frees, 1U);
  EXPECT_EQ(cut.counters.double_allocs, 1U);
  EXPECT_EQ(cut.counters.unknown_binds, 1U);
  EXPECT_EQ(cut.events[0].size, 77U) << "an orphan's size is what its allocator said";
  EXPECT_EQ(cut.active[0], 30U);
  recorder().clear_history();
  EXPECT_EQ(recorder().counters().double_allocs, 0U);
  EXPECT_EQ(recorder().counters().orphan_frees, 0U);
}

TEST_F(RecorderTest, TakesTheNullAddressForNoMemory) {
  start();
  alloc(64, 100);
  alloc(0, 0);
  bind(0, 5, holder(1));
  bind(64, 0, holder(1));
  free(0);
  const Cut cut = recorder().cut();
  EXPECT_EQ(cut.events.size(), 1U);
  EXPECT_EQ(addresses_of(cut.live), (std::vector<std::uint64_t>{64}));
  EXPECT_EQ(cut.active[0], 100U);
}

TEST_F(RecorderTest, CountsEventsAndBytesByAction) {
  start();
  alloc(64, 100);
  alloc(128, 20);
  free(64);
  recorder().note_segment(Action::cache_to_device, 64, 100, {}, {}, 0);
  const Counters counters = recorder().counters();
  EXPECT_EQ(counters.events[static_cast<std::size_t>(Action::alloc_new)], 2U);
  EXPECT_EQ(counters.bytes[static_cast<std::size_t>(Action::alloc_new)], 120U);
  EXPECT_EQ(counters.events[static_cast<std::size_t>(Action::free_to_device)], 1U);
  EXPECT_EQ(counters.bytes[static_cast<std::size_t>(Action::cache_to_device)], 100U);
}

TEST_F(RecorderTest, KeepsABlockActiveBetweenFreeRequestedAndFreeCompleted) {
  start();
  recorder().note_alloc({.action = Action::alloc, .address = 64, .size = 512, .requested = 500});
  recorder().note_free({.action = Action::free_requested, .address = 64});
  EXPECT_EQ(recorder().active(), 512U) << "a stream still uses it";
  recorder().note_free({.action = Action::free_completed, .address = 64});
  EXPECT_EQ(recorder().active(), 0U);
  const Cut cut = recorder().cut();
  EXPECT_EQ(actions_of(cut.events),
            (std::vector{Action::alloc, Action::free_requested, Action::free_completed}));
  EXPECT_EQ(cut.events[1].size, 512U);
  EXPECT_EQ(cut.counters.orphan_frees, 0U);
}

TEST_F(RecorderTest, MarksSnapshotsSegmentsAndRefusedRequests) {
  start();
  alloc(64, 100);
  recorder().mark_snapshot();
  recorder().note_segment(Action::segment_map, 8192, 4096, {2}, {3}, 1);
  const OpContext context{.op = {8}, .traceback = {9}};
  const OpScope scope(context);
  recorder().note_oom(1 << 30, 1 << 20, {2}, 1);
  const std::vector<Event> events = recorder().cut().events;
  ASSERT_EQ(actions_of(events),
            (std::vector{Action::alloc_new, Action::snapshot, Action::segment_map, Action::oom}));
  EXPECT_EQ(events[1].size, 100U);
  EXPECT_EQ(events[2].address, 8192U);
  EXPECT_EQ(events[2].size, 4096U);
  EXPECT_EQ(events[2].pool, PoolId{3});
  EXPECT_EQ(events[3].address, 1U << 20);
  EXPECT_EQ(events[3].requested, 1U << 30);
  EXPECT_EQ(events[3].op, OpId{8});
}

TEST_F(RecorderTest, SurvivesASwitchInTheMiddleOfAScope) {
  const OpContext context{.op = {5}, .traceback = {6}};
  {
    const OpScope entered_while_off(context);
    start();
    alloc(64, 10);
    recorder().stop();
  }
  EXPECT_EQ(thread_state().scope, nullptr);
  start();
  const std::uint32_t phase = recorder().begin_phase("step");
  recorder().stop();
  recorder().end_phase(phase);
  recorder().end_phase(0);
  recorder().end_phase(4711);
  const Cut cut = recorder().cut();
  EXPECT_EQ(cut.events.at(0).op, OpId{5});
  EXPECT_FALSE(cut.phases.at(0).open);
}

TEST_F(RecorderTest, TellsThePhasesAndTheirPeaks) {
  start();
  alloc(64, 100);
  const std::uint32_t step = recorder().begin_phase("step");
  alloc(128, 50);
  free(128);
  recorder().end_phase(step);
  const Phase phase = recorder().cut().phases.at(0);
  EXPECT_EQ(phase.name, "step");
  EXPECT_EQ(phase.start_active, 100U);
  EXPECT_EQ(phase.peak_active, 150U);
  EXPECT_EQ(phase.end_active, 100U);
  EXPECT_EQ(phase.end_sequence - phase.start_sequence, 2U);
  EXPECT_LT(phase.start_ticks, phase.end_ticks);
}

TEST_F(RecorderTest, ClearsTablesWhenAskedAndLeavesNoStaleIdBehind) {
  start();
  const OpId op = recorder().tables().ops.intern("Matmul");
  const OpContext context{.op = op, .traceback = {3}};
  const OpScope scope(context);
  const std::uint32_t generation = recorder().tables().generation;
  alloc(64, 100);
  recorder().clear_history();
  EXPECT_EQ(recorder().tables().ops.text(op), "Matmul");
  EXPECT_EQ(recorder().cut().live.at(0).holder.op, op);
  recorder().clear_history(Recorder::ClearTables::yes);
  EXPECT_NE(recorder().tables().generation, generation);
  EXPECT_EQ(recorder().tables().ops.text(op), "");
  EXPECT_EQ(recorder().cut().live.at(0).holder.op, OpId{});
  EXPECT_EQ(recorder().cut().peak_set[0].at(0).holder.op, OpId{});
  EXPECT_NE(recorder().tables().ops.intern("Matmul"), op);
}

TEST_F(RecorderTest, ResetsThePeakToWhatIsActiveNow) {
  start();
  alloc(64, 100);
  alloc(128, 1'000);
  free(128);
  recorder().reset_peak();
  EXPECT_EQ(recorder().peak(), 100U);
  EXPECT_EQ(addresses_of(peak_set()), (std::vector<std::uint64_t>{64}));
  alloc(192, 1);
  EXPECT_EQ(recorder().peak(), 101U);
}

TEST_F(RecorderTest, TellsTwoPeaksOfCapacityAndOfRequestedBytes) {
  start();
  recorder().note_alloc({.address = 64, .size = 1'000, .requested = 1});
  free(64);
  recorder().note_alloc({.address = 128, .size = 500, .requested = 400});
  EXPECT_EQ(recorder().peak(Measure::capacity), 1'000U);
  EXPECT_EQ(recorder().peak(Measure::requested), 400U);
  EXPECT_EQ(addresses_of(peak_set(Measure::capacity)), (std::vector<std::uint64_t>{64}));
  EXPECT_EQ(addresses_of(peak_set(Measure::requested)), (std::vector<std::uint64_t>{128}));
}

// The same program; what the ring forgets must not change the peak report.
TEST_F(RecorderTest, GivesTheSamePeakSetWhenTheRingWrapsAHundredTimes) {
  const auto run = [](std::uint64_t entries) {
    reset();
    start(entries);
    std::mt19937_64 random(42);
    std::set<std::uint64_t> live;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t address = (random() % 300 + 1) * 64;
      switch (random() % 4) {
        case 0:
          free(address);
          live.erase(address);
          break;
        case 1:
          leave(random() % 100 + 1);
          break;
        case 2:
          bind(address, random() % 100 + 1, holder(static_cast<std::uint32_t>(random() % 99 + 1)));
          break;
        default:
          if (live.insert(address).second) alloc(address, random() % 10'000);
      }
    }
    Cut cut = recorder().cut();
    for (auto& set : cut.peak_set) {
      for (LiveBlock& block : set) block.alloc_ticks = block.alloc_sequence = 0;
    }
    return cut;
  };
  const Cut whole = run(1'000'000);
  const Cut wrapped = run(90);
  EXPECT_EQ(whole.counters.events_overwritten, 0U);
  EXPECT_GE(wrapped.counters.events_overwritten, 90U * 100);
  EXPECT_EQ(wrapped.events.size(), 90U);
  EXPECT_GT(whole.peak_set[0].size(), 50U);
  EXPECT_EQ(wrapped.peak_set, whole.peak_set);
  EXPECT_EQ(wrapped.active, whole.active);
}

TEST_F(RecorderTest, HoldsItsMemoryConstantOverAMillionEvents) {
  if (kSanitized) GTEST_SKIP() << "shadow memory is counted too";
  constexpr std::uint64_t kEntries = 100'000;
  start(kEntries);
  const auto write_events = [](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count / 2; ++i) {
      const std::uint64_t address = (i % 500 + 1) * 64;
      alloc(address, i % 1'000);
      free(address);
    }
  };
  write_events(kEntries + 1'000);
  const std::uint64_t once = resident_bytes();
  write_events(10 * kEntries);
  EXPECT_LT(resident_bytes(), once + (1 << 20));
  EXPECT_EQ(recorder().cut().events.size(), kEntries);
}

TEST_F(RecorderTest, ConvertsEventTicksToTheTimeTheyHappened) {
  start();
  const auto now_us = [] {
    return ClockConversion(clock_anchor(), clock_anchor()).unix_us(clock_ticks());
  };
  const std::int64_t before = now_us();
  alloc(64, 1);
  const std::int64_t after = now_us();
  const Cut cut = recorder().cut();
  EXPECT_GE(cut.clock.unix_us(cut.events[0].ticks), before - 1'000);
  EXPECT_LE(cut.clock.unix_us(cut.events[0].ticks), after + 1'000);
}

}  // namespace
}  // namespace strandline::record
