// SPDX-License-Identifier: Apache-2.0
// Who a byte is charged to: bindings, holders, donation, views, labels and forward parts.
#include <gtest/gtest.h>

#include "strandline/record/recorder.h"
#include "support.h"

namespace strandline::record {
namespace {

using RecorderBinding = RecorderTest;

TEST_F(RecorderBinding, CompletesThisThreadsLastEventInPlace) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10, 3));
  const Cut cut = recorder().cut();
  ASSERT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new}));
  EXPECT_EQ(cut.events[0].traceback, TracebackId{10});
  EXPECT_EQ(cut.events[0].op, OpId{11});
  EXPECT_EQ(cut.events[0].layout, LayoutId{12});
  EXPECT_EQ(cut.events[0].label, LabelId{3});
  EXPECT_EQ(cut.events[0].size, 100U) << "capacity, not the bytes of the view";
  EXPECT_EQ(cut.live.at(0).holder, holder(10, 3));
  EXPECT_EQ(cut.peak_set[0].at(0).holder, holder(10, 3)) << "the peak it made itself";
}

TEST_F(RecorderBinding, WritesAHolderEventWhenAnotherThreadBinds) {
  start();
  alloc(64, 100);
  elsewhere([] { bind(64, 1, holder(10)); });
  const Cut cut = recorder().cut();
  ASSERT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new, Action::holder}));
  EXPECT_EQ(cut.events[0].traceback, TracebackId{});
  const Event& event = cut.events[1];
  EXPECT_EQ(event.address, 64U);
  EXPECT_EQ(event.size, 80U) << "bytes of the holder's view";
  EXPECT_EQ(event.requested, 10U) << "offset of the holder's view";
  EXPECT_EQ(event.traceback, TracebackId{10});
  EXPECT_EQ(cut.peak_set[0].at(0).holder, holder(10));
}

TEST_F(RecorderBinding, WritesAHolderEventWhenTheThreadHasAllocatedSince) {
  start();
  alloc(64, 100);
  alloc(128, 100);
  bind(64, 1, holder(10));
  bind(128, 2, holder(20));
  EXPECT_EQ(actions_of(recorder().cut().events),
            (std::vector{Action::alloc_new, Action::alloc_new, Action::holder}));
}

TEST_F(RecorderBinding, WritesAHolderEventWhenTheRingHasForgottenTheAllocation) {
  start(2);
  alloc(64, 100);
  elsewhere([] {
    for (int i = 0; i < 4; ++i) recorder().mark_snapshot();
  });
  bind(64, 1, holder(10));
  EXPECT_EQ(actions_of(recorder().cut().events), (std::vector{Action::snapshot, Action::holder}));
}

TEST_F(RecorderBinding, CompletesAnAllocationOnlyOnce) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10));
  leave(1);
  bind(64, 2, holder(20));
  const Cut cut = recorder().cut();
  ASSERT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new, Action::holder}));
  EXPECT_EQ(cut.events[0].traceback, TracebackId{10});
  EXPECT_EQ(cut.events[1].traceback, TracebackId{20});
  EXPECT_EQ(cut.peak_set[0].at(0).holder, holder(10));
  EXPECT_EQ(cut.live.at(0).holder, holder(20));
}

TEST_F(RecorderBinding, KeepsWhatTheAllocationKnewWhereTheBindingKnowsNothing) {
  start();
  const OpContext context{.op = {5}, .traceback = {6}};
  {
    const OpScope scope(context);
    const LabelScope labelled({9});
    alloc(64, 100);
  }
  bind(64, 1, {.layout = {7}, .view_bytes = 100});
  const Cut cut = recorder().cut();
  const Holder merged{.traceback = {6}, .op = {5}, .layout = {7}, .label = {9}, .view_bytes = 100};
  EXPECT_EQ(cut.live.at(0).holder, merged);
  EXPECT_EQ(cut.events.at(0).label, LabelId{9})
      << "a label at eval is not lost to an unlabelled array";
  EXPECT_EQ(cut.events.at(0).traceback, TracebackId{6});
  EXPECT_EQ(cut.events.at(0).layout, LayoutId{7});
}

TEST_F(RecorderBinding, KeepsALabelSetBeforeTheFirstBinding) {
  start();
  alloc(64, 100);
  EXPECT_TRUE(recorder().annotate(64, {9}));
  bind(64, 1, holder(10));
  EXPECT_EQ(recorder().cut().live.at(0).holder, holder(10, 9));
}

TEST_F(RecorderBinding, HandsADonatedBufferToTheArrayThatReceivedIt) {
  start();
  alloc(64, 4'000);
  bind(64, 1, holder(10));
  bind(64, 2, holder(20));
  leave(1);
  const Cut cut = recorder().cut();
  ASSERT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new, Action::holder}));
  EXPECT_EQ(cut.events[1].traceback, TracebackId{20});
  EXPECT_EQ(cut.peak_set[0].at(0).holder, holder(10)) << "the past peak was held by the first";
  EXPECT_EQ(cut.live.at(0).holder, holder(20));
}

TEST_F(RecorderBinding, ChargesAWeightToItselfHoweverManySmallViewsCome) {
  start();
  alloc(64, 4 << 20);
  bind(64, 1, holder(10));
  for (std::uint64_t view = 2; view < 20; ++view) bind(64, view, holder(30));
  for (std::uint64_t view = 2; view < 20; ++view) leave(view);
  const Cut cut = recorder().cut();
  EXPECT_EQ(actions_of(cut.events), (std::vector{Action::alloc_new}));
  EXPECT_EQ(cut.live.at(0).holder, holder(10));
}

TEST_F(RecorderBinding, MovesAnArrayThatIsBoundElsewhereAndTellsTheBlockItLeaves) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10));
  bind(64, 2, holder(20));
  alloc(128, 100);
  bind(128, 1, holder(11));
  const Cut cut = recorder().cut();
  EXPECT_EQ(actions_of(cut.events),
            (std::vector{Action::alloc_new, Action::alloc_new, Action::holder}));
  EXPECT_EQ(cut.events[2].address, 64U);
  EXPECT_EQ(cut.events[2].traceback, TracebackId{20});
  EXPECT_EQ(cut.events[1].traceback, TracebackId{11});
}

TEST_F(RecorderBinding, LabelsABlockForItsWholeLifeAlsoAtAPastPeak) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10));
  alloc(128, 50);
  bind(64, 2, holder(20));
  leave(1);
  EXPECT_TRUE(recorder().annotate_array({2}, {7}));
  free(64);
  const Cut cut = recorder().cut();
  EXPECT_EQ(block_at(cut.peak_set[0], 64)->holder, holder(10, 7));
  ASSERT_EQ(actions_of(cut.events),
            (std::vector{Action::alloc_new, Action::alloc_new, Action::holder, Action::annotate,
                         Action::free_to_device}));
  EXPECT_EQ(cut.events[3].label, LabelId{7});
  EXPECT_EQ(cut.events[3].size, 100U);
  EXPECT_EQ(cut.events[4].label, LabelId{7});
}

TEST_F(RecorderBinding, LabelsThePastPeakAlsoWhenTheHolderHasTheLabelAlready) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10));
  bind(64, 2, holder(20, 7));
  leave(1);
  EXPECT_TRUE(recorder().annotate_array({2}, {7}));
  EXPECT_EQ(peak_set().at(0).holder, holder(10, 7));
  EXPECT_EQ(recorder().counters().events[static_cast<std::size_t>(Action::annotate)], 0U)
      << "nothing new for the events";
}

TEST_F(RecorderBinding, KeepsTheLabelOfASharerUntilItHolds) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10));
  bind(64, 2, holder(20));
  EXPECT_TRUE(recorder().annotate_array({2}, {7}));
  leave(1);
  EXPECT_EQ(recorder().cut().live.at(0).holder, holder(20, 7));
  EXPECT_FALSE(recorder().annotate_array({4711}, {7}));
  EXPECT_FALSE(recorder().annotate(4711, {7}));
}

TEST_F(RecorderBinding, ForgetsSharersWithTheirBlock) {
  start();
  alloc(64, 100);
  bind(64, 1, holder(10));
  free(64);
  alloc(64, 200);
  leave(1);
  bind(64, 2, holder(20));
  const Cut cut = recorder().cut();
  EXPECT_EQ(actions_of(cut.events),
            (std::vector{Action::alloc_new, Action::free_to_device, Action::alloc_new}));
  EXPECT_EQ(cut.events[2].traceback, TracebackId{20});
}

TEST_F(RecorderBinding, PrefersTheScopesLabelToTheThreads) {
  start();
  const LabelScope labelled({4});
  alloc(64, 1);
  const OpContext unlabelled{.op = {5}};
  const OpContext with_label{.op = {5}, .label = {6}};
  {
    const OpScope scope(unlabelled);
    alloc(128, 1);
    const OpScope inner(with_label);
    alloc(192, 1);
  }
  alloc(256, 1);
  const std::vector<Event> events = recorder().cut().events;
  EXPECT_EQ(events.at(0).label, LabelId{4});
  EXPECT_EQ(events.at(1).label, LabelId{4});
  EXPECT_EQ(events.at(2).label, LabelId{6});
  EXPECT_EQ(events.at(3).label, LabelId{4});
  EXPECT_EQ(events.at(3).op, OpId{});
}

TEST_F(RecorderBinding, AsksTheOpForTheLayoutOfTheOutputWithTheRequestedBytes) {
  start();
  std::uint64_t asked = 0;
  const OpContext context{.op = {5},
                          .layout_of =
                              [](void* outputs, std::uint64_t bytes) noexcept {
                                *static_cast<std::uint64_t*>(outputs) = bytes;
                                return LayoutId{44};
                              },
                          .outputs = &asked};
  const OpScope scope(context);
  recorder().note_alloc({.address = 64, .size = 512, .requested = 400});
  EXPECT_EQ(asked, 400U);
  EXPECT_EQ(recorder().cut().events.at(0).layout, LayoutId{44});
}

TEST_F(RecorderBinding, KeepsAForwardPairInEventsAndBlocks) {
  start();
  TracebackTable& table = recorder().tables().tracebacks;
  const auto enter = [&](std::uint64_t code) {
    const RawFrame frame{.code = code};
    Fingerprint fingerprint;
    fingerprint.add(frame.code, frame.offset);
    return table.insert(fingerprint, {&frame, 1}, false);
  };
  const TracebackId forward = enter(100);
  const ForwardScope scope(forward);
  {
    const ForwardScope inner(enter(300));
    EXPECT_EQ(thread_state().forward, enter(300));
  }
  const TracebackId pair = table.pair(enter(200), thread_state().forward);
  const OpContext context{.op = {5}, .traceback = pair};
  const OpScope op(context);
  alloc(64, 100);
  EXPECT_EQ(recorder().traceback_of(64), pair);
  const TracebackId written = recorder().cut().events.at(0).traceback;
  EXPECT_EQ(table.frames(written).at(0).code, 200U);
  EXPECT_EQ(table.frames(table.forward(written)).at(0).code, 100U);
  EXPECT_EQ(recorder().traceback_of(4711), TracebackId{});
}

}  // namespace
}  // namespace strandline::record
