// SPDX-License-Identifier: Apache-2.0
// The short way through a pickle against the stack machine: fed byte by byte a dictionary is never
// there whole, and the machine reads all of it. Both have to leave the same rows, ids included.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/pickle_feed.h"
#include "snapshot/samples.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  SnapshotFile file;
  std::string error;
};

Outcome read_in_pieces(const std::string& bytes, std::size_t piece) {
  Outcome outcome;
  try {
    PickleRecords records(outcome.file);
    PickleMachine machine(records);
    PickleFeed feed(machine);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      feed.write(std::string_view(bytes).substr(at, piece));
    }
    feed.finish();
  } catch (const FormatError& error) {
    outcome.error = error.what() + std::string(" at ") + std::to_string(error.offset);
  }
  return outcome;
}

template <typename Columns>
void expect_equal_rows(const Columns& one, const Columns& other) {
  ASSERT_EQ(one.count(), other.count());
  for (std::size_t i = 0; i < one.count(); ++i) ASSERT_EQ(one.row(i), other.row(i)) << i;
}

void expect_the_same(const std::string& bytes) {
  const Outcome whole = read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  const Outcome bytewise = read_in_pieces(bytes, 1);
  ASSERT_EQ(whole.error, bytewise.error);
  if (!whole.error.empty()) return;
  const Snapshot& a = whole.file.snapshot;
  const Snapshot& b = bytewise.file.snapshot;
  expect_equal_rows(a.events, b.events);
  expect_equal_rows(a.segments, b.segments);
  expect_equal_rows(a.blocks, b.blocks);
  ASSERT_EQ(a.strings.size(), b.strings.size());
  for (std::uint32_t id = 1; id <= a.strings.size(); ++id) {
    ASSERT_EQ(a.text(StringId{id}), b.text(StringId{id}));
  }
  ASSERT_EQ(a.frames.size(), b.frames.size());
  ASSERT_EQ(a.stacks.size(), b.stacks.size());
  for (std::uint32_t id = 1; id <= a.stacks.size(); ++id) {
    ASSERT_EQ(a.stacks.parent(StackId{id}), b.stacks.parent(StackId{id}));
    ASSERT_EQ(a.stacks.frame(StackId{id}), b.stacks.frame(StackId{id}));
  }
  EXPECT_EQ(a.pools, b.pools);
  EXPECT_EQ(a.streams, b.streams);
  EXPECT_EQ(whole.file.traces, bytewise.file.traces);
  EXPECT_EQ(whole.file.unknown_keys, bytewise.file.unknown_keys);
  EXPECT_EQ(whole.file.extras.size(), bytewise.file.extras.size());
  EXPECT_EQ(whole.file.annotations.size(), bytewise.file.annotations.size());
  EXPECT_EQ(whole.file.host_events.count(), bytewise.file.host_events.count());
}

class PickleRunOnFolder : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(PickleRunOnFolder, ReadsWhatTheMachineReads) {
  if (!std::filesystem::exists(GetParam())) GTEST_SKIP() << "no folder " << GetParam();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GetParam())) {
    if (entry.path().extension() == ".json" || entry.path().extension() == ".md") continue;
    SCOPED_TRACE(entry.path());
    expect_the_same(bytes_of(entry.path()));
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(, PickleRunOnFolder,
                         ::testing::Values(strandline::testing::samples("snapshots"),
                                           strandline::testing::samples("snapshots_torch_2_15"),
                                           std::filesystem::path(STRANDLINE_SOURCE_DIR) /
                                               "tests/snapshot/corpus/pickle"),
                         [](const auto& sample) { return sample.param.filename().string(); });

TEST(PickleRun, TellsASizeThatNoMemoryHasWhereTheMachineDoes) {
  using namespace std::string_literals;
  expect_the_same(
      "]]](}(\x8c\x06"
      "action\x8c\x05"
      "alloc\x8c\x04sizeJ\xff\xff\xff\xff"
      "u"s +
      std::string(40, '0') + "ee.");
}

}  // namespace
}  // namespace strandline::snapshot
