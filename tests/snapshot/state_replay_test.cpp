// SPDX-License-Identifier: Apache-2.0
// The replay of real traces: it ends in the state the file tells, and its rules say what PyTorch's
// allocator took.
#include "strandline/snapshot/state_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/samples.h"

namespace strandline::snapshot {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

class SampleReplays : public ::testing::TestWithParam<const char*> {
 protected:
  /// Calls `look` with every sample of the folder that can be replayed.
  template <typename Look>
  void for_each_file(Look&& look) {
    const std::filesystem::path folder = strandline::testing::samples(GetParam());
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no samples at " << folder;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".pickle") continue;
      SCOPED_TRACE(entry.path().filename().string());
      look(read_snapshot(entry.path().string()));
    }
  }
};

using Span = std::pair<std::uint64_t, std::uint64_t>;

TEST_P(SampleReplays, EndInTheStateTheFileTells) {
  for_each_file([](const SnapshotFile& file) {
    for (std::size_t device = 0; device < file.snapshot.device_count(); ++device) {
      StateReplay replay(file, static_cast<std::uint8_t>(device));
      replay.advance_to(UINT64_MAX);
      std::vector<Span> segments;
      std::vector<Span> live;
      std::vector<Span> free;
      const BlockColumns& blocks = file.snapshot.blocks;
      for (std::size_t s = 0; s < file.snapshot.segments.count(); ++s) {
        const SegmentRow row = file.snapshot.segments.row(s);
        if (row.device != device) continue;
        segments.emplace_back(row.address, row.size);
        std::uint64_t end = row.address;
        for (std::size_t b = row.first_block; b < row.first_block + row.block_count; ++b) {
          const bool is_free = blocks.use[b] == record::BlockUse::inactive;
          // Between the blocks that a file lists lies what it leaves out: free, too.
          if (blocks.address[b] > end) free.emplace_back(end, blocks.address[b] - end);
          (is_free ? free : live).emplace_back(blocks.address[b], blocks.size[b]);
          end = blocks.address[b] + blocks.size[b];
        }
        if (end < row.address + row.size) free.emplace_back(end, row.address + row.size - end);
      }
      std::vector<Span> told;
      for (const auto& [address, segment] : replay.segments())
        told.emplace_back(address, segment.size);
      std::sort(segments.begin(), segments.end());
      EXPECT_EQ(told, segments);
      told.clear();
      for (const auto& [address, block] : replay.blocks()) {
        if (block.inside) told.emplace_back(address, block.size);
      }
      std::sort(live.begin(), live.end());
      EXPECT_EQ(told, live);
      told.assign(replay.holes().begin(), replay.holes().end());
      std::sort(free.begin(), free.end());
      EXPECT_EQ(told, free);
      EXPECT_EQ(replay.facts().lost_blocks, 0U);
    }
  });
}

/// Holes and blocks add up to the segments at every event, in each of the ways they are counted.
TEST_P(SampleReplays, AddUpAtEveryEvent) {
  for_each_file([](const SnapshotFile& file) {
    StateReplay replay(file, 0);
    for (std::uint64_t i = 0; i <= replay.trace().count; ++i) {
      const StateTotals totals = replay.totals();
      ASSERT_EQ(totals.reserved, totals.live + totals.free) << "before event " << i;
      if (i % 97 == 0) {
        std::uint64_t reserved = 0;
        std::uint64_t live = 0;
        std::uint64_t free = 0;
        std::uint64_t in_classes = 0;
        for (const auto& [address, segment] : replay.segments()) reserved += segment.size;
        for (const auto& [address, block] : replay.blocks()) live += block.inside ? block.size : 0;
        for (const auto& [address, size] : replay.holes()) free += size;
        for (const auto& [place, sizes] : replay.hole_sizes()) in_classes += sizes.bytes;
        ASSERT_EQ(totals.reserved, reserved);
        ASSERT_EQ(totals.live, live);
        ASSERT_EQ(totals.free, free);
        ASSERT_EQ(totals.free, in_classes);
      }
      replay.step();
    }
  });
}

/// A block that lives to the end has its size in the file: the rules must say the same of it when
/// they see no more than the hole it was put into.
TEST_P(SampleReplays, TakeWhatTheAllocatorTook) {
  std::size_t looked_at = 0;
  for_each_file([&](const SnapshotFile& file) {
    StateReplay replay(file, 0);
    const EventColumns& events = file.snapshot.events;
    for (std::uint64_t i = 0; i < replay.trace().count; ++i) {
      const auto row = static_cast<std::size_t>(replay.trace().first + i);
      const auto hole = replay.holes().find(events.address[row]);
      std::optional<std::uint64_t> said;
      if (events.action[row] == record::Action::alloc && hole != replay.holes().end()) {
        const auto segment = std::prev(replay.segments().upper_bound(hole->first));
        said = replay.rules().taken(events.requested[row], hole->second, segment->second);
      }
      replay.step();
      if (!said) continue;
      const ReplayBlock& block = replay.blocks().at(events.address[row]);
      if (block.file_block == 0) continue;
      ++looked_at;
      EXPECT_EQ(*said, block.size) << "event " << i;
    }
  });
  if (!IsSkipped()) {
    EXPECT_GT(looked_at, 30U);
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleReplays,
                         ::testing::Values("snapshots", "snapshots_torch_2_15"),
                         [](const auto& folder) { return std::string(folder.param); });

TEST(SizeRules, RoundAsPyTorchDoes) {
  const SizeRules plain;
  EXPECT_EQ(plain.rounded(1), 512U);
  EXPECT_EQ(plain.rounded(512), 512U);
  EXPECT_EQ(plain.rounded(513), 1024U);
  const SizeRules fourths(R"({"roundup_power2_divisions": {"1": 4, "2": 4, "4": 0}})");
  EXPECT_EQ(fourths.rounded(1200), 1536U);
  EXPECT_EQ(fourths.rounded(2500), 2560U);
  EXPECT_EQ(fourths.rounded(3 * kMiB - 1), 3 * kMiB);
  EXPECT_EQ(fourths.rounded(4 * kMiB), 4 * kMiB);
  EXPECT_EQ(fourths.rounded(4 * kMiB + 1), 4 * kMiB + 512);
}

TEST(SizeRules, SplitOffWhatIsWorthIt) {
  const SizeRules rules;
  const ReplaySegment small{.size = 2 * kMiB, .place = {.is_small = true}};
  const ReplaySegment large{.size = 20 * kMiB};
  EXPECT_EQ(rules.taken(1000, 1024 + 511, small), 1024U + 511);
  EXPECT_EQ(rules.taken(1000, 1024 + 512, small), 1024U);
  EXPECT_EQ(rules.taken(2 * kMiB, 3 * kMiB, large), 3 * kMiB);
  EXPECT_EQ(rules.taken(2 * kMiB, 3 * kMiB + 512, large), 2 * kMiB);
  const SizeRules limited(R"({"max_split_size": 4194304})");
  EXPECT_EQ(limited.taken(4 * kMiB, 8 * kMiB, large), 8 * kMiB);
  EXPECT_EQ(limited.taken(4 * kMiB - 512, 8 * kMiB, large), 4 * kMiB - 512);
}

}  // namespace
}  // namespace strandline::snapshot
