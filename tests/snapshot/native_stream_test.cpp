// SPDX-License-Identifier: Apache-2.0
// Streams: the file holds the record at every moment, and all of it once closed; what goes wrong
// with a file stays out of the program.
#include "strandline/snapshot/native_stream.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/support.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/native_file.h"

namespace strandline::snapshot {
namespace {

using record::recorder;
using ::testing::HasSubstr;

class NativeStreamTest : public record::RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() /
              ("strandline_" + name + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "run.slt").string();
  }
  void TearDown() override {
    if (stream_ != nullptr) stream_->close();
    std::filesystem::remove_all(folder_);
    RecorderTest::TearDown();
  }

  /// Chunks are written at every delivery.
  void open() { stream_ = NativeStream::open(recorder(), path_, {.level = 1, .most_wait_ms = 0}); }
  bool close() { return std::exchange(stream_, nullptr)->close(); }
  NativeFile read() const { return read_native(path_); }

  static std::vector<std::uint64_t> addresses(const NativeFile& file) {
    const EventColumns& events = file.file.snapshot.events;
    std::vector<std::uint64_t> result;
    for (std::size_t i = 0; i < events.count(); ++i) result.push_back(events.address[i]);
    return result;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::shared_ptr<NativeStream> stream_;
};

TEST_F(NativeStreamTest, OnceClosedHasWhatASnapshotHas) {
  open();
  start();
  const std::uint32_t step = recorder().begin_phase("step");
  alloc(0x1000, 100);
  bind(0x1000, 1,
       {.op = recorder().tables().ops.intern("Add"),
        .layout = recorder().tables().layouts.intern({}, record::Dtype::float32)});
  alloc(0x2000, 200);
  recorder().annotate(0x2000, recorder().tables().labels.intern("weights"));
  free(0x1000);
  recorder().end_phase(step);
  alloc(0x3000, 300);
  const Snapshot snapshot = take_snapshot(recorder());
  EXPECT_TRUE(close());
  const NativeFile file = read();
  EXPECT_TRUE(file.is_complete);
  EXPECT_TRUE(file.is_recorded);
  const Snapshot& read = file.file.snapshot;
  ASSERT_EQ(read.events.count(), snapshot.events.count());
  for (std::size_t i = 0; i < read.events.count(); ++i) {
    const EventRow ours = read.events.row(i);
    const EventRow theirs = snapshot.events.row(i);
    EXPECT_EQ(ours.action, theirs.action);
    EXPECT_EQ(ours.address, theirs.address);
    EXPECT_EQ(ours.requested, theirs.requested);
    EXPECT_EQ(read.text(ours.op), snapshot.text(theirs.op));
    EXPECT_EQ(read.text(ours.label), snapshot.text(theirs.label));
    EXPECT_EQ(read.layout(ours.layout), snapshot.layout(theirs.layout));
    EXPECT_NEAR(static_cast<double>(ours.time_us), static_cast<double>(theirs.time_us), 1e6);
  }
  EXPECT_EQ(read.first_sequence, snapshot.first_sequence);
  EXPECT_EQ(read.segments.count(), snapshot.segments.count());
  EXPECT_EQ(read.blocks.count(), snapshot.blocks.count());
  EXPECT_EQ(read.peak[0].bytes, snapshot.peak[0].bytes);
  EXPECT_EQ(read.peak[0].sequence, snapshot.peak[0].sequence);
  EXPECT_EQ(read.peak_set[0].count(), snapshot.peak_set[0].count());
  EXPECT_EQ(read.counters.events, snapshot.counters.events);
  ASSERT_EQ(read.phases.size(), 1U);
  EXPECT_EQ(read.text(read.phases[0].name), "step");
  EXPECT_EQ(read.phases[0].end_sequence, snapshot.phases[0].end_sequence);
  EXPECT_FALSE(make_account(read_snapshot(path_)).is_inconsistent());
}

TEST_F(NativeStreamTest, HasEveryDeliveredEventBeforeItIsClosed) {
  start();
  alloc(0x1000, 50);
  open();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    alloc(0x1000 * (i + 1), i);
    recorder().flush_sinks();
    const NativeFile file = read();
    EXPECT_FALSE(file.is_complete);
    EXPECT_EQ(file.cut_bytes, 0U);
    ASSERT_EQ(file.file.snapshot.events.count(), i);
    EXPECT_EQ(file.file.snapshot.blocks.count(), i + 1) << "with what was live at the start";
  }
  free(0x1000);
  recorder().flush_sinks();
  EXPECT_EQ(read().file.snapshot.blocks.count(), 3U);
  EXPECT_EQ(stream_->events_written(), 4U);
}

TEST_F(NativeStreamTest, TellsPhasesBeforeItIsClosed) {
  open();
  start();
  const std::uint32_t outer = recorder().begin_phase("outer");
  alloc(0x1000, 1);
  recorder().end_phase(recorder().begin_phase("inner"));
  recorder().flush_sinks();
  {
    const Snapshot& read = this->read().file.snapshot;
    ASSERT_EQ(read.phases.size(), 2U);
    EXPECT_TRUE(read.phases[0].open);
    EXPECT_FALSE(read.phases[1].open);
    EXPECT_EQ(read.text(read.phases[1].name), "inner");
  }
  recorder().end_phase(outer);
  recorder().flush_sinks();
  EXPECT_FALSE(read().file.snapshot.phases[0].open);
}

TEST_F(NativeStreamTest, GoesOnThroughAClearedHistoryAndAnotherRing) {
  open();
  start(100);
  alloc(0x1000, 1);
  recorder().clear_history(record::Recorder::ClearTables::yes);
  start(200);
  alloc(0x2000, 1);
  EXPECT_TRUE(close());
  EXPECT_EQ(addresses(read()), (std::vector<std::uint64_t>{0x1000, 0x2000}));
}

TEST_F(NativeStreamTest, SaysWhatTheRingOverwroteBeforeItWasDelivered) {
  start(10);
  const std::uint64_t before = recorder().cut().next_sequence;
  open();
  // Another thread may deliver in between: what counts is that nothing is lost without being told.
  for (int i = 0; i < 10'000; ++i) recorder().mark_snapshot();
  EXPECT_TRUE(close());
  const NativeFile file = read();
  EXPECT_EQ(file.file.snapshot.events.count() + file.missed_events +
                (file.file.snapshot.first_sequence - before),
            10'000U);
  EXPECT_EQ(file.file.snapshot.counters.sink_events_missed, 10'000U - addresses(file).size());
}

TEST_F(NativeStreamTest, OfTwoThreadsHasEveryEventOnce) {
  open();
  start(1'000'000);
  const auto work = [](std::uint64_t base) {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      alloc(base + i * 64, 64);
      if (i % 2 == 1) free(base + i * 64);
    }
  };
  std::thread other([&] { work(1ULL << 40); });
  work(1ULL << 41);
  other.join();
  const record::Cut cut = recorder().cut();
  EXPECT_TRUE(close());
  const NativeFile file = read();
  ASSERT_EQ(file.file.snapshot.events.count(), cut.events.size());
  for (std::size_t i = 0; i < cut.events.size(); ++i) {
    ASSERT_EQ(file.file.snapshot.events.address[i], cut.events[i].address);
    ASSERT_EQ(file.file.snapshot.events.action[i], cut.events[i].action);
  }
}

TEST_F(NativeStreamTest, RefusesAFileThatCannotBeWritten) {
  EXPECT_THROW(NativeStream::open(recorder(), (folder_ / "no" / "run.slt").string()), DeviceError);
  EXPECT_THROW(NativeStream::open(recorder(), "/dev/full"), DeviceError);
  EXPECT_THROW(NativeStream::open(recorder(), folder_.string()), DeviceError);
  open();
  EXPECT_THROW(NativeStream::open(recorder(), path_), DeviceError) << "two streams, one file";
  EXPECT_TRUE(close());
  open();
  EXPECT_TRUE(std::filesystem::exists(path_)) << "a closed one may be replaced";
}

/// Files may not grow past `bytes` while one of these lives, like on a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(NativeStreamTest, AFullDiskEndsTheStreamAndNotTheProgram) {
  open();
  start();
  alloc(0x1000, 1);
  recorder().flush_sinks();
  ::testing::internal::CaptureStderr();
  {
    const FullDisk full(std::filesystem::file_size(path_) + 10);
    alloc(0x2000, 1);
    recorder().flush_sinks();
    alloc(0x3000, 1);
    recorder().flush_sinks();
  }
  alloc(0x4000, 1);
  EXPECT_FALSE(close());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("cannot write"));
  EXPECT_THAT(said, HasSubstr("the program goes on"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(addresses(read()), (std::vector<std::uint64_t>{0x1000}));
  EXPECT_EQ(read().cut_bytes, 0U) << "half a chunk is taken back";
  EXPECT_EQ(recorder().cut().events.size(), 4U);
  EXPECT_TRUE(record::recording());
}

TEST_F(NativeStreamTest, ADiskThatIsFullAtTheEndIsSaidToo) {
  open();
  start();
  alloc(0x1000, 1);
  recorder().flush_sinks();
  ::testing::internal::CaptureStderr();
  {
    const FullDisk full(std::filesystem::file_size(path_) + 10);
    EXPECT_FALSE(close());
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("cannot write"));
  EXPECT_EQ(addresses(read()), (std::vector<std::uint64_t>{0x1000}));
}

TEST_F(NativeStreamTest, AForkedChildWritesNothing) {
  open();
  start();
  alloc(0x1000, 1);
  recorder().flush_sinks();
  const auto size = std::filesystem::file_size(path_);
  const pid_t child = fork();
  if (child == 0) {
    alloc(0x2000, 1);
    recorder().flush_sinks();
    const bool closed = stream_->close();
    _exit(closed || std::filesystem::file_size(path_) != size ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  alloc(0x3000, 1);
  EXPECT_TRUE(close());
  EXPECT_EQ(addresses(read()), (std::vector<std::uint64_t>{0x1000, 0x3000}));
}

TEST_F(NativeStreamTest, ReplacesTheFileThatWasThereWhenItHasSomethingToSay) {
  std::ofstream(path_) << "before";
  open();
  EXPECT_TRUE(is_native([&] {
    std::ifstream file(path_, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_),
                          std::filesystem::directory_iterator()),
            1);
}

}  // namespace
}  // namespace strandline::snapshot
