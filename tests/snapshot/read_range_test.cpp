// SPDX-License-Identifier: Apache-2.0
// Parts of a file: what is read of them has to be what the whole file says of the same moments.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/samples.h"
#include "snapshot/training_record.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/builder.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/pickle_writer.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {
namespace {

using ::testing::ElementsAre;

/// Bytes held by address of the block, and by its stack as text.
struct State {
  std::map<std::uint64_t, std::uint64_t> blocks;
  std::map<std::string, std::uint64_t> stacks;

  bool operator==(const State&) const = default;
};

std::string stack_text(const Snapshot& snapshot, StackId stack) {
  std::string text;
  for (; stack; stack = snapshot.stacks.parent(stack)) {
    const FrameId frame = snapshot.stacks.frame(stack);
    text += std::string(snapshot.text(snapshot.frames.file(frame))) + ":" +
            std::to_string(snapshot.frames.line(frame)) + ";";
  }
  return text;
}

/// What is held after event `number` of the file's trace.
State state_after(const SnapshotFile& file, std::uint8_t device, std::int64_t number) {
  const TracePart part = device < file.parts.size() ? file.parts[device] : TracePart{};
  const auto in_trace = number - static_cast<std::int64_t>(part.first_event) +
                        static_cast<std::int64_t>(part.carried);
  const BlockColumns held = blocks_held(file, device, in_trace);
  State state;
  for (std::size_t b = 0; b < held.count(); ++b) {
    state.blocks[held.address[b]] += held.requested[b];
    state.stacks[stack_text(file.snapshot, held.stack[b])] += held.requested[b];
  }
  return state;
}

struct Sample {
  const char* folder;
  const char* file;
};

class ReadRangeOfSample : public ::testing::TestWithParam<Sample> {
 protected:
  std::string path() const {
    return (strandline::testing::samples(GetParam().folder) / GetParam().file).string();
  }
  void SetUp() override {
    if (!std::filesystem::exists(path())) GTEST_SKIP() << "no sample " << path();
  }
};

TEST_P(ReadRangeOfSample, HoldsWhatTheWholeFileHoldsAtTheSameMoments) {
  const SnapshotFile whole = read_snapshot(path());
  for (std::size_t d = 0; d < whole.traces.size(); ++d) {
    const auto device = static_cast<std::uint8_t>(d);
    const std::uint64_t count = whole.traces[d].count;
    const std::vector<std::int64_t> levels = requested_curve(whole, device);
    for (const auto& [first, end] :
         {std::pair(count / 3, 2 * count / 3), std::pair(count / 2, count),
          std::pair(std::uint64_t{0}, count / 4)}) {
      if (count == 0) continue;
      const SnapshotFile part =
          read_snapshot(path(), {.first_event = first, .end_event = end, .device = device});
      ASSERT_EQ(part.traces[d].count - part.parts[d].carried, end - first);
      EXPECT_EQ(part.parts[d].first_event, first);
      const std::vector<std::int64_t> part_levels = requested_curve(part, device);
      const std::uint64_t carried = part.parts[d].carried;
      for (std::uint64_t i = first; i <= end; ++i) {
        ASSERT_EQ(part_levels[carried + i - first], levels[i]) << "before event " << i;
      }
      for (const std::uint64_t i : {first, (first + end) / 2, end}) {
        const auto after = static_cast<std::int64_t>(i) - 1;
        EXPECT_EQ(state_after(part, device, after).blocks, state_after(whole, device, after).blocks)
            << "after event " << after << " of " << first << " to " << end;
      }
      EXPECT_EQ(part.snapshot.validate(), "");
      const Account account = make_account(part, device);
      EXPECT_EQ(account.devices.at(0).residual, make_account(whole, device).devices.at(0).residual);
    }
  }
}

TEST_P(ReadRangeOfSample, IsTheSameOfTheNativeFile) {
  const std::string native = native_bytes(read_snapshot(path()));
  const std::int64_t start_us = read_snapshot(path()).snapshot.start_us;
  for (const ReadRange& range :
       {ReadRange{.first_event = 100, .end_event = 300}, ReadRange{.device = 0},
        ReadRange{.first_event = 10'000'000}, ReadRange{.end_event = 200, .device = 1},
        ReadRange{.from = TimeBound{start_us + 1000}, .until = TimeBound{start_us + 100'000}}}) {
    const SnapshotFile ours = read_snapshot_bytes(native, range);
    const SnapshotFile theirs = read_snapshot(path(), range);
    EXPECT_EQ(ours.parts, theirs.parts);
    EXPECT_EQ(pickle_bytes(ours), pickle_bytes(theirs));
    EXPECT_EQ(account_json(make_account(ours), "file"), account_json(make_account(theirs), "file"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ReadRangeOfSample,
    ::testing::Values(Sample{"snapshots", "training.pickle"}, Sample{"snapshots", "tiny.pickle"},
                      Sample{"snapshots", "forward_bf16.pickle"},
                      Sample{"snapshots_torch_2_15", "convnet_ring.pickle"},
                      Sample{"snapshots_torch_2_15", "expandable_varying_lengths.pickle"},
                      Sample{"snapshots_torch_2_15", "two_devices.pickle"},
                      Sample{"snapshots_torch_2_15", "two_streams_pending.pickle"},
                      Sample{"snapshots_torch_2_15", "out_of_memory.pickle"},
                      Sample{"snapshots_torch_2_15", "cuda_graph_pools.pickle"},
                      Sample{"snapshots_torch_2_15", "kv_cache_labels.pickle"}),
    [](const auto& sample) {
      const std::string name = sample.param.file;
      return name.substr(0, name.find('.'));
    });

std::string three_blocks() {
  SnapshotBuilder builder;
  const auto event = [&](record::Action action, std::uint64_t address, std::uint64_t size,
                         std::int64_t time_us) {
    builder.add_event({.action = action,
                       .address = address,
                       .size = size,
                       .requested = size,
                       .time_us = time_us});
  };
  using record::Action;
  event(Action::segment_alloc, 0x10000, 8192, 1000);
  event(Action::alloc, 0x10000, 1024, 1010);
  event(Action::alloc, 0x10400, 2048, 1020);
  event(Action::free_completed, 0x10000, 1024, 1030);
  event(Action::segment_alloc, 0x20000, 8192, 1040);
  event(Action::alloc, 0x20000, 512, 1050);
  event(Action::free_completed, 0x10400, 2048, 1060);
  return pickle_bytes(builder.finish());
}

TEST(ReadRange, EndsWithTheSegmentsAndBlocksOfItsEnd) {
  const SnapshotFile part = read_snapshot_bytes(three_blocks(), {.first_event = 2, .end_event = 4});
  EXPECT_EQ(part.parts, (std::vector<TracePart>{{.carried = 1, .first_event = 2, .in_file = 7}}));
  EXPECT_THAT(part.snapshot.events.action, ElementsAre(record::Action::alloc, record::Action::alloc,
                                                       record::Action::free_completed));
  EXPECT_THAT(part.snapshot.segments.address, ElementsAre(0x10000U));
  EXPECT_THAT(part.snapshot.blocks.address, ElementsAre(0x10000U, 0x10400U, 0x10c00U));
  EXPECT_THAT(part.snapshot.blocks.use,
              ElementsAre(record::BlockUse::inactive, record::BlockUse::pending_free,
                          record::BlockUse::inactive));
  EXPECT_EQ(part.event_number(0), std::nullopt);
  EXPECT_EQ(part.event_number(1), 2U);
}

TEST(ReadRange, OfARecordedNativeFileIsThatOfItsPickle) {
  testing::TrainingRecord training;
  const Snapshot snapshot = training.record.snapshot();
  for (const ReadRange& range : {ReadRange{.first_event = 3, .end_event = 9},
                                 ReadRange{.end_event = 2}, ReadRange{.first_event = 5}}) {
    const SnapshotFile ours = read_snapshot_bytes(native_bytes(snapshot), range);
    const SnapshotFile theirs = read_snapshot_bytes(pickle_bytes(snapshot), range);
    EXPECT_EQ(ours.parts, theirs.parts);
    EXPECT_EQ(ours.snapshot.events.address, theirs.snapshot.events.address);
    EXPECT_EQ(ours.snapshot.blocks.address, theirs.snapshot.blocks.address);
    EXPECT_EQ(ours.snapshot.blocks.use, theirs.snapshot.blocks.use);
    EXPECT_EQ(ours.snapshot.validate(), "");
  }
}

TEST(ReadRange, TakesTimesAsTheyAreAndSinceTheStart) {
  const SnapshotFile absolute =
      read_snapshot_bytes(three_blocks(), {.from = TimeBound{1020}, .until = TimeBound{1040}});
  EXPECT_THAT(absolute.snapshot.events.time_us, ElementsAre(1010, 1020, 1030));
  const SnapshotFile relative = read_snapshot_bytes(
      three_blocks(), {.from = TimeBound{20, true}, .until = TimeBound{40, true}});
  EXPECT_THAT(relative.snapshot.events.time_us, ElementsAre(1010, 1020, 1030));
}

TEST(ReadRange, IsTheStateAloneBehindTheLastEvent) {
  const SnapshotFile part = read_snapshot_bytes(three_blocks(), {.first_event = 100});
  EXPECT_EQ(part.parts.at(0).carried, 1U);
  EXPECT_THAT(part.snapshot.events.address, ElementsAre(0x20000U));
  EXPECT_EQ(part.snapshot.segments.count(), 2U);
}

}  // namespace
}  // namespace strandline::snapshot
