// SPDX-License-Identifier: Apache-2.0
// Sinks: what they get, in which order, what is missed, and that their faults stay theirs.
#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "strandline/core/error.h"
#include "strandline/record/recorder.h"
#include "strandline/record/sink.h"
#include "support.h"

namespace strandline::record {
namespace {

class KeepingSink : public Sink {
 public:
  void write(std::uint64_t first_sequence, std::span<const Event> events) override {
    const std::lock_guard guard(mutex_);
    for (const Event& event : events) {
      numbers_.push_back(first_sequence++);
      events_.push_back(event);
    }
    most_ = std::max(most_, events.size());
  }
  std::vector<Event> events() const {
    const std::lock_guard guard(mutex_);
    return events_;
  }
  std::vector<std::uint64_t> numbers() const {
    const std::lock_guard guard(mutex_);
    return numbers_;
  }
  std::size_t largest_batch() const {
    const std::lock_guard guard(mutex_);
    return most_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::vector<std::uint64_t> numbers_;
  std::size_t most_ = 0;
};

template <typename Thrown>
class ThrowingSink : public Sink {
 public:
  explicit ThrowingSink(Thrown thrown) : thrown_(thrown) {}
  void write(std::uint64_t, std::span<const Event>) override {
    ++calls;
    throw thrown_;
  }
  int calls = 0;

 private:
  Thrown thrown_;
};

/// Each delivery brings one more event, as if other threads wrote while it is under way: there is
/// always one that has not been delivered.
class BusySink : public KeepingSink {
 public:
  void write(std::uint64_t first_sequence, std::span<const Event> events) override {
    KeepingSink::write(first_sequence, events);
    if (busy) recorder().mark_snapshot();
  }
  std::atomic<bool> busy{true};
};

class RecorderSinks : public RecorderTest {
 protected:
  template <typename SinkType, typename... Arguments>
  std::shared_ptr<SinkType> add(Arguments... arguments) {
    auto sink = std::make_shared<SinkType>(arguments...);
    recorder().add_sink(sink);
    added_.push_back(sink);
    return sink;
  }
  void TearDown() override {
    for (const auto& sink : added_) recorder().remove_sink(sink.get());
    RecorderTest::TearDown();
  }

 private:
  std::vector<std::shared_ptr<Sink>> added_;
};

TEST_F(RecorderSinks, GetEveryEventOnceAndInOrder) {
  start(1'000'000);
  const auto sink = add<KeepingSink>();
  constexpr std::uint64_t kEvents = kSanitized ? 20'000 : 200'000;
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    alloc(i * 64, i);
    if (i % (kEvents / 4) == 0) recorder().flush_sinks();
  }
  recorder().flush_sinks();
  const Cut cut = recorder().cut();
  EXPECT_TRUE(sink->events() == cut.events);
  const std::vector<std::uint64_t> numbers = sink->numbers();
  ASSERT_EQ(numbers.size(), cut.events.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(numbers[i], cut.first_sequence + i);
  }
  EXPECT_EQ(cut.counters.sink_events_missed, 0U);
}

TEST_F(RecorderSinks, AreServedInBatchesSoThatWritersWaitForASmallCopyOnly) {
  start(1'000'000);
  const auto sink = add<KeepingSink>();
  for (std::uint64_t i = 1; i <= 300'000; ++i) recorder().mark_snapshot();
  recorder().flush_sinks();
  EXPECT_EQ(sink->events().size(), 300'000U);
  EXPECT_LE(sink->largest_batch(), 65'536U);
}

TEST_F(RecorderSinks, GetNothingFromBeforeTheyWereAdded) {
  start();
  const auto first = add<KeepingSink>();
  alloc(64, 1);
  const auto second = add<KeepingSink>();
  alloc(128, 2);
  recorder().flush_sinks();
  EXPECT_EQ(first->events().size(), 2U);
  ASSERT_EQ(second->events().size(), 1U);
  EXPECT_EQ(second->events()[0].address, 128U);
  recorder().remove_sink(first.get());
  recorder().remove_sink(second.get());
  alloc(192, 3);
  const auto third = add<KeepingSink>();
  alloc(256, 4);
  recorder().flush_sinks();
  ASSERT_EQ(third->events().size(), 1U);
  EXPECT_EQ(third->events()[0].address, 256U);
}

TEST_F(RecorderSinks, GetAHolderEventForAnAllocationTheyHaveAlreadySeen) {
  start();
  const auto sink = add<KeepingSink>();
  alloc(64, 100);
  recorder().flush_sinks();
  bind(64, 1, holder(10));
  recorder().flush_sinks();
  EXPECT_EQ(actions_of(sink->events()), (std::vector{Action::alloc_new, Action::holder}));
  EXPECT_EQ(sink->events()[0].traceback, TracebackId{});
  EXPECT_EQ(sink->events(), recorder().cut().events) << "file and ring agree";
}

TEST_F(RecorderSinks, LetBindingsCompleteInPlaceAgainOnceAllAreGone) {
  start();
  const auto sink = add<KeepingSink>();
  recorder().remove_sink(sink.get());
  alloc(64, 100);
  recorder().flush_sinks();
  bind(64, 1, holder(10));
  EXPECT_EQ(actions_of(recorder().cut().events), (std::vector{Action::alloc_new}));
}

TEST_F(RecorderSinks, CountWhatTheRingOverwroteBeforeItWasDelivered) {
  start(10);
  const auto sink = add<KeepingSink>();
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 100; ++i) recorder().mark_snapshot();
  }
  recorder().flush_sinks();
  const Counters counters = recorder().counters();
  EXPECT_GT(counters.sink_events_missed, 0U);
  EXPECT_EQ(sink->events().size() + counters.sink_events_missed, 10'000U);
}

TEST_F(RecorderSinks, GetWhatWasWrittenBeforeTheRingIsReplacedOrCleared) {
  start(100);
  const auto sink = add<KeepingSink>();
  alloc(64, 1);
  start(200);
  alloc(128, 1);
  recorder().clear_history();
  alloc(192, 1);
  recorder().flush_sinks();
  ASSERT_EQ(sink->events().size(), 3U);
  EXPECT_EQ(sink->events()[2].address, 192U);
  const std::vector<std::uint64_t> numbers = sink->numbers();
  EXPECT_LT(numbers[0], numbers[1]);
  EXPECT_LT(numbers[1], numbers[2]);
}

TEST_F(RecorderSinks, GetWhatIsWrittenWhileTheHistoryIsClearedOrTheRingReplaced) {
  start(100);
  const std::uint64_t first = recorder().cut().next_sequence;
  const auto sink = add<BusySink>();
  recorder().mark_snapshot();
  for (const std::uint64_t max_entries : {200U, 300U, 400U}) {
    recorder().clear_history();
    start(max_entries);
  }
  sink->busy = false;
  recorder().flush_sinks();
  const std::vector<std::uint64_t> numbers = sink->numbers();
  ASSERT_EQ(numbers.size(), recorder().cut().next_sequence - first);
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], first + i);
}

TEST_F(RecorderSinks, ThatThrowAreRemovedAndTheOthersServed) {
  start();
  const auto bad = add<ThrowingSink<std::runtime_error>>(std::runtime_error("disk full"));
  const auto worse = add<ThrowingSink<int>>(7);
  const auto good = add<KeepingSink>();
  testing::internal::CaptureStderr();
  alloc(64, 1);
  recorder().flush_sinks();
  alloc(128, 1);
  recorder().flush_sinks();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a sink was removed: disk full"), std::string::npos) << said;
  EXPECT_EQ(bad->calls, 1);
  EXPECT_EQ(worse->calls, 1);
  EXPECT_EQ(good->events().size(), 2U);
  EXPECT_TRUE(recording()) << "a sink's fault is not the recorder's";
}

TEST_F(RecorderSinks, AreServedWithoutAFlushByTheirOwnThread) {
  start();
  const auto sink = add<KeepingSink>();
  alloc(64, 1);
  while (sink->events().empty()) std::this_thread::yield();  // the pump's interval; hangs if none
  EXPECT_EQ(sink->events().size(), 1U);
}

TEST_F(RecorderSinks, RefuseNull) {
  EXPECT_THROW(recorder().add_sink(nullptr), InvalidArgument);
  recorder().remove_sink(nullptr);
}

}  // namespace
}  // namespace strandline::record
