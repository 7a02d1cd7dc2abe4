// SPDX-License-Identifier: Apache-2.0
// A cut resolved into columns: complete segments, labels for whole lives, frames told once.
#include "strandline/snapshot/snapshot.h"

#include "snapshot/synthetic.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;
using testing::kMiB;
using testing::SyntheticRecord;

const record::Frame kMain{"/home/u/train.py", "main", 3};
const record::Frame kStep{"/home/u/train.py", "step", 88};
const record::Frame kLoss{"/home/u/model.py", "loss", 41};

TEST(Snapshot, EveryLiveWholeBufferIsASegmentOfOneBlock) {
  SyntheticRecord record;
  const record::Holder holder = record.holder(record.stack({kStep, kMain}), "Add", {2, 3});
  record.alloc(Action::alloc_new, 0x2000, 4096, 4000, holder);
  record.alloc(Action::alloc_external, 0x1000, 512, 500, holder);
  const Snapshot snapshot = record.snapshot();

  ASSERT_EQ(snapshot.segments.count(), 2U);
  EXPECT_EQ(snapshot.segments.address, (std::vector<std::uint64_t>{0x1000, 0x2000}));
  EXPECT_EQ(snapshot.segments.size, (std::vector<std::uint64_t>{512, 4096}));
  EXPECT_EQ(snapshot.blocks.requested, (std::vector<std::uint64_t>{500, 4000}));
  EXPECT_EQ(snapshot.blocks.use, (std::vector<BlockUse>{BlockUse::allocated, BlockUse::allocated}));
  EXPECT_EQ(snapshot.text(snapshot.blocks.op[1]), "Add");
  EXPECT_EQ(snapshot.layout(snapshot.blocks.layout[1]).shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(snapshot.validate(), "");
}

TEST(Snapshot, AFreedBufferStaysAsACachedSegmentUntilTheDeviceHasItBack) {
  SyntheticRecord record;
  const record::Holder holder = record.holder({}, "Add");
  record.alloc(Action::alloc_new, 0x1000, 512, 500, holder);
  record.alloc(Action::alloc_new, 0x2000, 512, 500, holder);
  record.release(Action::free_to_cache, 0x1000);
  record.release(Action::free_to_cache, 0x2000);
  record.note(Action::cache_to_device, 0x2000, 512);
  const Snapshot snapshot = record.snapshot();

  ASSERT_EQ(snapshot.segments.count(), 1U);
  EXPECT_EQ(snapshot.segments.row(0).address, 0x1000U);
  EXPECT_EQ(snapshot.blocks.row(0).use, BlockUse::inactive);
}

TEST(Snapshot, ACachedSegmentOfAProviderIsNotNamedTwice) {
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x1000, 512, 500, record.holder({}, "Add"));
  record.release(Action::free_to_cache, 0x1000);
  record::SegmentState state;
  state.address = 0x1000;
  state.size = 512;
  state.blocks.push_back(
      {.address = 0x1000, .size = 512, .requested = 0, .use = BlockUse::inactive, .traceback = {}});
  record.cut.segments.push_back(state);
  EXPECT_EQ(record.snapshot().segments.count(), 1U);
}

TEST(Snapshot, ABlockOfASegmentTakesWhatTheRecorderKnowsOfIt) {
  SyntheticRecord record;
  record::SegmentState state;
  state.address = 0x10000;
  state.size = 4096;
  state.is_small = true;
  state.blocks.push_back({.address = 0x10000,
                          .size = 1024,
                          .requested = 1000,
                          .use = BlockUse::allocated,
                          .traceback = {}});
  state.blocks.push_back({.address = 0x10400,
                          .size = 3072,
                          .requested = 0,
                          .use = BlockUse::inactive,
                          .traceback = {}});
  record.cut.segments.push_back(state);
  record.note(Action::segment_alloc, 0x10000, 4096);
  record.alloc(Action::alloc, 0x10000, 1024, 1000,
               record.holder(record.stack({kStep}), "Matmul", {10, 25}));
  const Snapshot snapshot = record.snapshot();

  ASSERT_EQ(snapshot.segments.count(), 1U);
  EXPECT_EQ(snapshot.segments.row(0).is_small, true);
  ASSERT_EQ(snapshot.blocks.count(), 2U);
  EXPECT_EQ(snapshot.text(snapshot.blocks.op[0]), "Matmul");
  EXPECT_EQ(snapshot.blocks.use[1], BlockUse::inactive);
  EXPECT_EQ(snapshot.validate(), "");
}

TEST(Snapshot, HolesBetweenAProvidersBlocksBecomeInactiveBlocks) {
  SyntheticRecord record;
  record::SegmentState state;
  state.address = 0x10000;
  state.size = 4096;
  state.blocks.push_back({.address = 0x10400,
                          .size = 1024,
                          .requested = 1000,
                          .use = BlockUse::pending_free,
                          .traceback = {}});
  record.cut.segments.push_back(state);
  const Snapshot snapshot = record.snapshot();
  EXPECT_EQ(snapshot.blocks.size, (std::vector<std::uint64_t>{0x400, 1024, 2048}));
  EXPECT_EQ(snapshot.validate(), "");
}

TEST(Snapshot, StacksShareTheirOuterFramesAndEachFrameIsToldOnce) {
  SyntheticRecord record;
  testing::MadeUpFrames::instance().forget_counts();
  const TracebackId step = record.stack({kStep, kMain});
  const TracebackId loss = record.stack({kLoss, kStep, kMain});
  record.alloc(Action::alloc_new, 0x1000, 64, 64, record.holder(step, "A"));
  record.alloc(Action::alloc_new, 0x2000, 64, 64, record.holder(loss, "B"));
  record.alloc(Action::alloc_new, 0x3000, 64, 64, record.holder(loss, "C"));
  const Snapshot snapshot = record.snapshot();

  EXPECT_EQ(snapshot.stacks.size(), 3U);
  EXPECT_EQ(snapshot.stacks.parent(snapshot.events.stack[1]), snapshot.events.stack[0]);
  EXPECT_EQ(snapshot.events.stack[1], snapshot.events.stack[2]);
  const FrameId innermost = snapshot.stacks.frame(snapshot.events.stack[1]);
  EXPECT_EQ(snapshot.text(snapshot.frames.file(innermost)), "/home/u/model.py");
  EXPECT_EQ(snapshot.frames.line(innermost), 41U);
  for (const record::Frame& frame : {kMain, kStep, kLoss}) {
    auto& source = testing::MadeUpFrames::instance();
    EXPECT_EQ(source.times_resolved(source.frame(frame)), 1U) << frame.function;
  }
}

TEST(Snapshot, AForwardTracebackIsKeptBesideTheCallingOne) {
  SyntheticRecord record;
  const TracebackId pair =
      record.tables.tracebacks.pair(record.stack({kMain}), record.stack({kLoss, kMain}));
  record.alloc(Action::alloc_new, 0x1000, 64, 64, record.holder(pair, "A"));
  const Snapshot snapshot = record.snapshot();
  const auto line = [&](StackId stack) {
    return snapshot.frames.line(snapshot.stacks.frame(stack));
  };
  EXPECT_EQ(line(snapshot.events.stack[0]), kMain.line);
  EXPECT_EQ(line(snapshot.events.forward[0]), kLoss.line);
  EXPECT_EQ(snapshot.stacks.depth(snapshot.events.forward[0]), 2U);
}

TEST(Snapshot, ALabelFoundLaterCountsForTheWholeLifeAndForNoOther) {
  SyntheticRecord record;
  const record::Holder holder = record.holder({}, "Add");
  record.alloc(Action::alloc_new, 0x1000, 64, 64, holder);
  record.release(Action::free_to_cache, 0x1000);
  record.alloc(Action::alloc_reuse, 0x1000, 64, 60, holder);
  record.change_holder(0x1000, record.holder({}, "Multiply"));
  record.annotate(0x1000, "early");
  record.annotate(0x1000, "parameters.w");
  record.release(Action::free_to_cache, 0x1000);
  record.alloc(Action::alloc_reuse, 0x1000, 64, 50, holder);
  const Snapshot snapshot = record.snapshot();

  std::vector<std::string> labels;
  for (const StringId label : snapshot.events.label) labels.emplace_back(snapshot.text(label));
  EXPECT_EQ(labels, (std::vector<std::string>{"", "", "parameters.w", "", "early", "parameters.w",
                                              "parameters.w", ""}));
  EXPECT_EQ(snapshot.holder_requested, (std::vector<std::uint64_t>{60}));
}

TEST(Snapshot, ABlockFromBeforeRecordingSaysSo) {
  SyntheticRecord record;
  record::LiveBlock block;
  block.address = 0x1000;
  block.size = 64;
  block.requested = 60;
  record.live[0x1000] = block;
  const Snapshot snapshot = record.snapshot();
  EXPECT_EQ(snapshot.text(snapshot.blocks.op[0]), kBeforeRecording);
  EXPECT_EQ(snapshot.blocks.alloc_time_us[0], 0);
}

TEST(Snapshot, TimesAreUnixMicroseconds) {
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x1000, 64, 64, record.holder({}, "Add"));
  const Snapshot snapshot = record.snapshot();
  EXPECT_EQ(snapshot.start_us, 1'700'000'000'000'000);
  EXPECT_EQ(snapshot.events.time_us[0], 1'700'000'000'001'000);
  EXPECT_EQ(snapshot.peak[0].time_us, 1'700'000'000'001'000);
}

TEST(Snapshot, IdsFromBeforeTheTablesWereEmptiedReadAsNone) {
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x1000, 64, 64,
               record.holder(record.stack({kStep}), "Add", {16}, "x"));
  record.tables.clear();
  const Snapshot snapshot = record.snapshot();
  EXPECT_FALSE(snapshot.events.stack[0]);
  EXPECT_FALSE(snapshot.events.op[0]);
  EXPECT_FALSE(snapshot.events.label[0]);
  EXPECT_FALSE(snapshot.events.layout[0]);
}

TEST(Snapshot, AnOpenPhaseEndsWithTheSnapshot) {
  SyntheticRecord record;
  const std::uint32_t closed = record.begin_phase("load");
  record.alloc(Action::alloc_new, 0x1000, kMiB, kMiB, record.holder({}, "Add"));
  record.end_phase(closed);
  record.begin_phase("step 1");
  const Snapshot snapshot = record.snapshot();
  ASSERT_EQ(snapshot.phases.size(), 2U);
  EXPECT_EQ(snapshot.phases[0].end_active, kMiB);
  EXPECT_EQ(snapshot.phases[0].end_sequence, 2U);
  EXPECT_TRUE(snapshot.phases[1].open);
  EXPECT_EQ(snapshot.phases[1].end_us, snapshot.taken_us);
  EXPECT_EQ(snapshot.phases[1].end_sequence, UINT64_MAX);
}

}  // namespace
}  // namespace strandline::snapshot
