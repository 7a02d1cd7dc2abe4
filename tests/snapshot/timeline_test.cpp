// SPDX-License-Identifier: Apache-2.0
// Curves against levels counted forwards, whole and after the ring has wrapped.
#include "strandline/snapshot/timeline.h"

#include "snapshot/synthetic.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using testing::SyntheticRecord;

/// Two buffers live and die; one is cached and reused, one returned.
void fill(SyntheticRecord& record) {
  const record::Holder holder = record.holder({}, "Add");
  record.alloc(Action::alloc_new, 0x1000, 100, 90, holder);
  record.alloc(Action::alloc_new, 0x2000, 200, 150, holder);
  record.release(Action::free_to_cache, 0x1000);
  record.change_holder(0x2000, holder);
  record.alloc(Action::alloc_reuse, 0x1000, 100, 50, holder);
  record.release(Action::free_to_cache, 0x2000);
  record.note(Action::cache_to_device, 0x2000, 200);
  record.release(Action::free_to_cache, 0x1000);
}

using Levels = std::vector<std::int64_t>;

TEST(Timeline, ThreeCurvesFollowEveryAction) {
  SyntheticRecord record;
  fill(record);
  const Timeline timeline = make_timeline(record.snapshot());
  EXPECT_EQ(timeline.active.level, (Levels{0, 100, 300, 200, 200, 300, 100, 100, 0}));
  EXPECT_EQ(timeline.requested.level, (Levels{0, 90, 240, 150, 150, 200, 50, 50, 0}));
  EXPECT_EQ(timeline.cached.level, (Levels{0, 0, 0, 100, 100, 0, 200, 0, 100}));
  EXPECT_EQ(timeline.active.peak_index(), 2U);
  EXPECT_EQ(timeline.requested.peak(), 240);
}

TEST(Timeline, AWrappedRingGivesTheRightLevelsFromItsFirstEventOn) {
  SyntheticRecord record;
  record.ring_entries = 4;
  fill(record);
  const Snapshot snapshot = record.snapshot();
  EXPECT_EQ(snapshot.first_sequence, 5U);
  const Timeline timeline = make_timeline(snapshot);
  EXPECT_EQ(timeline.active.level, (Levels{200, 300, 100, 100, 0}));
  EXPECT_EQ(timeline.cached.level, (Levels{100, 0, 200, 0, 100}));
}

TEST(Timeline, SegmentAllocatorsCacheWhatTheirSegmentsHoldBeyondBlocks) {
  SyntheticRecord record;
  record::SegmentState state;
  state.address = 0x10000;
  state.size = 4096;
  state.blocks.push_back({.address = 0x10000,
                          .size = 1024,
                          .requested = 1000,
                          .use = record::BlockUse::allocated,
                          .traceback = {}});
  record.cut.segments.push_back(state);
  record.note(Action::segment_alloc, 0x10000, 4096);
  record.alloc(Action::alloc, 0x10000, 1024, 1000, record.holder({}, "Add"));
  const Timeline timeline = make_timeline(record.snapshot());
  EXPECT_EQ(timeline.active.level, (Levels{0, 0, 1024}));
  EXPECT_EQ(timeline.cached.level, (Levels{0, 4096, 3072}));
}

TEST(Timeline, LevelsAreToldWithoutACurveToo) {
  SyntheticRecord record;
  fill(record);
  const Snapshot snapshot = record.snapshot();
  const Timeline timeline = make_timeline(snapshot);
  EXPECT_EQ(active_at_end(snapshot), timeline.active.end());
  for (std::size_t i = 0; i < timeline.cached.level.size(); ++i) {
    EXPECT_EQ(cached_level(snapshot, i), timeline.cached.level[i]);
  }
}

TEST(Timeline, OneDeviceAlone) {
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x1000, 100, 90, record.holder({}, "Add"));
  record.device = 1;
  record.alloc(Action::alloc_new, 0x2000, 7, 7, record.holder({}, "Add"));
  const Snapshot snapshot = record.snapshot();
  EXPECT_EQ(make_timeline(snapshot, 0).active.level, (Levels{0, 100, 100}));
  EXPECT_EQ(make_timeline(snapshot, 1).active.level, (Levels{0, 0, 7}));
  EXPECT_EQ(make_timeline(snapshot).active.level, (Levels{0, 100, 107}));
}

}  // namespace
}  // namespace strandline::snapshot
