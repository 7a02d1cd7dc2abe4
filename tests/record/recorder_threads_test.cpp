// SPDX-License-Identifier: Apache-2.0
// Several threads: order per address, the consistent cut, and switching, cutting and clearing while
// others record. These are the tests that the thread sanitizer is for.
#include <array>
#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "strandline/core/error.h"
#include "strandline/record/recorder.h"
#include "support.h"

namespace strandline::record {
namespace {

constexpr int kScale = kSanitized ? 1 : 5;

// A segment allocator of one segment with equal slots: its lock is taken around a change of state
// and the event of it, as every allocator's must be.
class ToyAllocator : public StateProvider {
 public:
  static constexpr std::uint64_t kBase = 1 << 20;
  static constexpr std::uint64_t kSlot = 4096;
  static constexpr std::size_t kSlots = 128;

  /// Allocates at the last moment before a cut begins and at the first after it ends.
  bool acts_at_the_edges = false;

  ToyAllocator() { register_state_provider(this); }
  ~ToyAllocator() override { unregister_state_provider(this); }

  std::uint64_t malloc(std::uint64_t requested) {
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < kSlots; ++i) {
      if (used_[i] != 0) continue;
      used_[i] = requested;
      recorder().note_alloc({.action = Action::alloc,
                             .address = kBase + i * kSlot,
                             .size = kSlot,
                             .requested = requested});
      return kBase + i * kSlot;
    }
    return 0;
  }
  void free(std::uint64_t address) {
    const std::lock_guard guard(mutex_);
    used_[(address - kBase) / kSlot] = 0;
    recorder().note_free({.action = Action::free_completed, .address = address});
  }

  void lock_state() override {
    if (acts_at_the_edges) malloc(1);
    mutex_.lock();
  }
  void unlock_state() noexcept override {
    mutex_.unlock();
    if (acts_at_the_edges) malloc(2);
  }
  void collect_segments(std::vector<SegmentState>& segments) const override {
    SegmentState segment{.address = kBase, .size = kSlots * kSlot, .blocks = {}};
    for (std::size_t i = 0; i < kSlots; ++i) {
      segment.blocks.push_back({.address = kBase + i * kSlot,
                                .size = kSlot,
                                .requested = used_[i],
                                .use = used_[i] != 0 ? BlockUse::allocated : BlockUse::inactive});
    }
    segments.push_back(segment);
  }

 private:
  std::mutex mutex_;
  std::array<std::uint64_t, kSlots> used_{};
};

std::map<std::uint64_t, std::uint64_t> replayed(const std::vector<Event>& events) {
  std::map<std::uint64_t, std::uint64_t> live;
  for (const Event& event : events) {
    if (begins_block(event.action)) live[event.address] = event.requested;
    if (ends_block(event.action)) live.erase(event.address);
  }
  return live;
}

std::map<std::uint64_t, std::uint64_t> allocated(const std::vector<SegmentState>& segments) {
  std::map<std::uint64_t, std::uint64_t> live;
  for (const SegmentState& segment : segments) {
    for (const BlockState& block : segment.blocks) {
      if (block.use == BlockUse::allocated) live[block.address] = block.requested;
    }
  }
  return live;
}

std::map<std::uint64_t, std::uint64_t> noted(const std::vector<LiveBlock>& blocks) {
  std::map<std::uint64_t, std::uint64_t> live;
  for (const LiveBlock& block : blocks) live[block.address] = block.requested;
  return live;
}

using RecorderThreads = RecorderTest;

TEST_F(RecorderThreads, CutEventsAndSegmentsOfOneMoment) {
  constexpr int kRounds = 20;
  constexpr int kOperations = 500 * kScale;  // of each thread and round
  start(3 * (kRounds + 1) * kOperations);
  ToyAllocator allocator;
  std::atomic<int> cuts{0};
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<std::uint64_t> mine;
      for (int i = 0; i < kRounds * kOperations; ++i) {
        while (cuts + 1 < i / kOperations) std::this_thread::yield();  // at most one round ahead
        ++done;
        if (mine.empty() || random() % 2 == 0) {
          if (const std::uint64_t at = allocator.malloc(random() % 4'000 + 1)) mine.push_back(at);
        } else {
          std::swap(mine[random() % mine.size()], mine.back());
          allocator.free(mine.back());
          mine.pop_back();
        }
      }
      for (const std::uint64_t address : mine) allocator.free(address);
    });
  }
  std::uint64_t wrong = 0;
  for (; cuts < kRounds; ++cuts) {
    while (done < 3 * cuts * kOperations) std::this_thread::yield();  // in the midst of a round
    const Cut cut = recorder().cut();
    const auto in_segments = allocated(cut.segments);
    wrong += replayed(cut.events) != in_segments;
    wrong += noted(cut.live) != in_segments;
    wrong += cut.next_sequence - cut.first_sequence != cut.events.size();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U) << "in " << cuts << " cuts";
  EXPECT_EQ(recorder().counters().events_overwritten, 0U);
  EXPECT_EQ(recorder().active(), 0U);
}

TEST_F(RecorderThreads, CutWhatTheLocksOfTheProvidersEnclose) {
  start();
  ToyAllocator allocator;
  allocator.acts_at_the_edges = true;
  for (std::size_t i = 0; i < 10; ++i) {
    const Cut cut = recorder().cut();
    EXPECT_EQ(replayed(cut.events), allocated(cut.segments));
    EXPECT_EQ(noted(cut.live), allocated(cut.segments));
    EXPECT_EQ(cut.events.size(), 2 * i + 1) << "the one before is in it, the one after is not";
  }
}

TEST_F(RecorderThreads, WriteAllocsAndFreesOfAnAddressInTheirOrder) {
  constexpr std::uint64_t kAddresses = 16;
  start(1'000'000);
  std::array<std::atomic<bool>, kAddresses> taken{};
  std::vector<std::thread> threads;
  std::latch gate(4);
  for (std::uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      gate.arrive_and_wait();
      for (int i = 0; i < 5'000 * kScale; ++i) {
        const std::uint64_t at = random() % kAddresses;
        if (taken[at].exchange(true, std::memory_order_acquire)) continue;
        alloc((at + 1) * 64, t);
        free((at + 1) * 64);
        taken[at].store(false, std::memory_order_release);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Cut cut = recorder().cut();
  std::map<std::uint64_t, const Event*> open;
  std::set<std::uint16_t> writers;
  std::uint64_t last_ticks = 0;
  for (const Event& event : cut.events) {
    writers.insert(event.thread);
    ASSERT_LE(last_ticks, event.ticks);
    last_ticks = event.ticks;
    const Event*& before = open[event.address];
    if (event.action == Action::alloc_new) {
      ASSERT_EQ(before, nullptr);
      before = &event;
    } else {
      ASSERT_NE(before, nullptr);
      ASSERT_EQ(before->thread, event.thread);
      ASSERT_EQ(before->size, event.size);
      before = nullptr;
    }
  }
  EXPECT_EQ(writers.size(), 4U);
  EXPECT_EQ(cut.counters.orphan_frees + cut.counters.double_allocs, 0U);
}

class CountingSink : public Sink {
 public:
  void write(std::uint64_t, std::span<const Event> events) override { count += events.size(); }
  std::atomic<std::uint64_t> count{0};
};

// One writer's life: its own addresses and arrays, so that all must be gone at its end.
void record_lives(std::uint64_t t, int lives) {
  std::mt19937_64 random(t);
  Recorder& r = recorder();
  const OpId op = r.tables().ops.intern("op " + std::to_string(t));
  for (int i = 0; i < lives; ++i) {
    const OpContext context{.op = op};
    const OpScope scope(context);
    const std::uint64_t address = (t << 32) + (random() % 64 + 1) * 64;
    r.note_alloc({.address = address, .size = 100, .requested = 64});
    r.bind(address, {address}, holder(1));
    r.bind(address, {address + 1}, holder(2));
    r.annotate_array({address + 1}, {3});
    const std::uint32_t phase = r.begin_phase("step");
    r.leave({address});
    r.leave({address + 1});
    r.end_phase(phase);
    r.note_free({.address = address});
  }
}

TEST_F(RecorderThreads, RecordWhileOthersSwitchCutClearAndStream) {
  start(500);
  const auto sink = std::make_shared<CountingSink>();
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    writers.emplace_back(record_lives, t, 4'000 * kScale);
  }
  std::thread switcher([&] {
    for (std::uint64_t i = 0; !done; ++i) {
      recorder().stop();
      std::this_thread::yield();
      start(i % 8 == 0 ? 400 : 500);  // now and then another ring
      std::this_thread::yield();
    }
  });
  std::thread reader([&] {
    while (!done) {
      const Cut cut = recorder().cut();
      std::uint64_t bytes = 0;
      for (const LiveBlock& block : cut.live) bytes += block.size;
      ASSERT_EQ(bytes, cut.active[0]);
      bytes = 0;
      for (const LiveBlock& block : cut.peak_set[0]) bytes += block.size;
      ASSERT_EQ(bytes, cut.peak[0].bytes);
      recorder().reset_peak();
      recorder().clear_history(Recorder::ClearTables::yes);
    }
  });
  std::thread streamer([&] {
    while (!done) {
      recorder().add_sink(sink);
      recorder().flush_sinks();
      recorder().remove_sink(sink.get());
    }
  });
  for (std::thread& thread : writers) thread.join();
  done = true;
  switcher.join();
  reader.join();
  streamer.join();
  const Cut cut = recorder().cut();
  EXPECT_TRUE(cut.live.empty()) << "what is noted while off is tracked too";
  EXPECT_EQ(cut.active[0], 0U);
  EXPECT_EQ(cut.counters.double_allocs, 0U);
  EXPECT_EQ(cut.fault, "");
}

TEST_F(RecorderThreads, HaveNumbersOfTheirOwn) {
  std::mutex mutex;
  std::set<std::uint16_t> numbers;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const std::uint16_t number = thread_number();
      EXPECT_EQ(thread_number(), number);
      const std::lock_guard guard(mutex);
      numbers.insert(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(numbers.size(), 8U);
  EXPECT_FALSE(numbers.contains(0));
}

TEST_F(RecorderThreads, KeepScopesAndLabelsToThemselves) {
  const OpContext context{.op = {5}};
  const OpScope scope(context);
  const LabelScope label({6});
  elsewhere([] {
    EXPECT_EQ(thread_state().scope, nullptr);
    EXPECT_EQ(thread_state().label, LabelId{});
  });
  EXPECT_EQ(thread_state().scope, &context);
}

TEST(StateProviders, AreUnlockedAgainWhenOneCannotBeLocked) {
  struct Provider : StateProvider {
    bool throws = false;
    int locked = 0;
    void lock_state() override {
      if (throws) throw DeviceError("gone");
      ++locked;
    }
    void unlock_state() noexcept override { --locked; }
    void collect_segments(std::vector<SegmentState>&) const override {}
  };
  Provider good;
  Provider bad;
  register_state_provider(&good);
  register_state_provider(&bad);
  bad.throws = true;
  EXPECT_THROW(recorder().cut(), DeviceError);
  EXPECT_EQ(good.locked, 0);
  bad.throws = false;
  recorder().cut();
  EXPECT_EQ(good.locked, 0);
  EXPECT_EQ(bad.locked, 0);
  unregister_state_provider(&bad);
  unregister_state_provider(&good);
  EXPECT_THROW(register_state_provider(nullptr), InvalidArgument);
}

}  // namespace
}  // namespace strandline::record
