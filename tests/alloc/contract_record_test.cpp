// SPDX-License-Identifier: Apache-2.0
// The contract: what the recorder hears of an allocator, and that a cut of both agrees.
#include <atomic>
#include <map>
#include <thread>

#include "alloc/contract/contract.h"

namespace strandline::alloc {
namespace {

using record::Action;
using record::Event;

/// Follows events as a reader of the record would, and knows what must be there after them.
class Follower {
 public:
  void follow(const Event& event) {
    switch (event.action) {
      case Action::alloc_new:
      case Action::alloc_external:
        take(event.address, event.size);
        live_[event.address] = event.size;
        break;
      case Action::alloc_reuse:
        EXPECT_EQ(cached_.erase(event.address), 1u) << "reuse of what was not kept";
        live_[event.address] = event.size;
        break;
      case Action::free_to_cache:
        end_block(event);
        cached_[event.address] = event.size;
        break;
      case Action::free_to_device:
      case Action::release_external:
        end_block(event);
        give(event.address);
        break;
      case Action::cache_to_device:
        EXPECT_EQ(cached_.erase(event.address), 1u) << "gone from a cache it was not in";
        give(event.address);
        break;
      case Action::segment_alloc:
        take(event.address, event.size);
        segments_[event.address] = event.size;
        break;
      case Action::segment_free:
        EXPECT_EQ(segments_.erase(event.address), 1u);
        give(event.address);
        break;
      case Action::alloc:
        EXPECT_TRUE(live_.emplace(event.address, event.size).second) << "handed out twice";
        break;
      case Action::free_completed:
        end_block(event);
        break;
      default:
        break;
    }
  }

  std::uint64_t reserved() const { return sum(spans_); }
  std::uint64_t active() const { return sum(live_); }
  const std::map<std::uint64_t, std::uint64_t>& live() const { return live_; }
  /// Cached buffers and segments: what the providers have to list.
  std::map<std::uint64_t, std::uint64_t> listed() const {
    std::map<std::uint64_t, std::uint64_t> all = cached_;
    all.insert(segments_.begin(), segments_.end());
    return all;
  }

 private:
  using Spans = std::map<std::uint64_t, std::uint64_t>;

  static std::uint64_t sum(const Spans& spans) {
    std::uint64_t bytes = 0;
    for (const auto& [address, size] : spans) bytes += size;
    return bytes;
  }
  void take(std::uint64_t address, std::uint64_t size) {
    const auto after = spans_.lower_bound(address);
    if (after != spans_.end()) {
      EXPECT_LE(address + size, after->first) << "overlap";
    }
    if (after != spans_.begin()) {
      EXPECT_LE(std::prev(after)->first + std::prev(after)->second, address) << "overlap";
    }
    spans_[address] = size;
  }
  void give(std::uint64_t address) { EXPECT_EQ(spans_.erase(address), 1u); }
  void end_block(const Event& event) {
    const auto found = live_.find(event.address);
    ASSERT_NE(found, live_.end()) << "free of what was not live";
    EXPECT_EQ(found->second, event.size);
    live_.erase(found);
  }

  Spans spans_;  // obtained from the device
  Spans live_;
  Spans cached_;
  Spans segments_;
};

class AllocatorRecord : public AllocatorContract {
 protected:
  AllocatorRecord() { reset_recorder(); }
  ~AllocatorRecord() override { record::recorder().stop(); }

  static void start() { record::recorder().start({.stacks = record::Stacks::none}); }
  static Follower followed(const record::Cut& cut) {
    Follower follower;
    for (const Event& event : cut.events) follower.follow(event);
    return follower;
  }
  void mixed_work(int rounds) {
    std::vector<Buffer> held;
    for (int i = 0; i < rounds; ++i) {
      held.push_back(allocator().malloc(static_cast<std::uint64_t>(i) * 7919 % 20'000 + 1));
      if (held.size() > 7) {
        allocator().free(held[static_cast<std::size_t>(i) % 7]);
        held.erase(held.begin() + i % 7);
      }
      if (i % 50 == 49) allocator().empty_cache();
    }
    free_all(held);
  }
};
INSTANTIATE_TEST_SUITE_P(Contract, AllocatorRecord, testing::ValuesIn(all_subjects()),
                         subject_name);

TEST_P(AllocatorRecord, nothing_is_written_while_it_is_off) {
  mixed_work(200);
  const record::Cut cut = record::recorder().cut();
  EXPECT_TRUE(cut.events.empty());
  EXPECT_TRUE(cut.live.empty());
}

TEST_P(AllocatorRecord, every_step_is_one_event_and_the_books_agree) {
  start();
  const Buffer held = allocator().malloc(5000);
  mixed_work(400);
  const Statistics s = now();
  const record::Cut cut = record::recorder().cut();
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  for (const Event& event : cut.events) {
    begun += record::begins_block(event.action);
    ended += record::ends_block(event.action);
  }
  EXPECT_EQ(begun, s.mallocs);
  EXPECT_EQ(ended, s.frees);
  const Follower follower = followed(cut);
  EXPECT_EQ(follower.active(), s.active_bytes);
  EXPECT_EQ(follower.reserved(), s.reserved_bytes);
  EXPECT_EQ(record::recorder().active(), s.active_bytes);
  EXPECT_EQ(record::recorder().active(record::Measure::requested), s.requested_bytes);
  EXPECT_EQ(record::recorder().peak(), s.peak_active_bytes);
  EXPECT_EQ(cut.counters.orphan_frees, 0u);
  EXPECT_EQ(cut.counters.double_allocs, 0u);
  allocator().free(held);
}

TEST_P(AllocatorRecord, events_say_what_was_asked_for_whom_and_on_which_stream) {
  start();
  record::Tables& tables = record::recorder().tables();
  const StreamId stream = streams().create();
  const record::OpContext context{.op = tables.ops.intern("matmul"),
                                  .label = tables.labels.intern("weights")};
  Buffer buffer;
  {
    const record::OpScope scope(context);
    buffer = allocator().malloc(5000, {.stream = stream});
  }
  const record::Cut cut = record::recorder().cut();
  ASSERT_FALSE(cut.events.empty());
  const Event& event = cut.events.back();
  EXPECT_TRUE(record::begins_block(event.action));
  EXPECT_EQ(event.address, buffer.address());
  EXPECT_EQ(event.size, allocator().size(buffer));
  EXPECT_EQ(event.requested, 5000u);
  EXPECT_EQ(event.op, context.op);
  EXPECT_EQ(event.label, context.label);
  EXPECT_EQ(tables.streams.handle(event.stream).first, stream.value);
  EXPECT_EQ(event.device, facts().index.value);
  allocator().free(buffer);
}

TEST_P(AllocatorRecord, out_of_memory_is_recorded_and_names_the_holder) {
  start();
  record::Tables& tables = record::recorder().tables();
  const record::OpContext context{.op = tables.ops.intern("embedding")};
  Buffer held;
  {
    const record::OpScope scope(context);
    held = allocator().malloc(1 << 20);
  }
  allocator().set_memory_limit(2 << 20, LimitRule::hard);
  EXPECT_THAT(message_of<OutOfMemory>([&] { (void)allocator().malloc(4 << 20); }),
              testing::HasSubstr("1048576 bytes in 1 block of embedding"));
  const record::Cut cut = record::recorder().cut();
  ASSERT_FALSE(cut.events.empty());
  EXPECT_EQ(cut.events.back().action, Action::oom);
  EXPECT_EQ(cut.events.back().requested, 4u << 20);
  allocator().free(held);
}

TEST_P(AllocatorRecord, what_was_live_before_is_the_initial_state) {
  std::vector<Buffer> held;
  for (const std::uint64_t bytes : std::initializer_list<std::uint64_t>{3, 5000, 100'000})
    held.push_back(allocator().malloc(bytes));
  allocator().free(allocator().malloc(300'000));
  start();
  EXPECT_EQ(record::recorder().active(), now().active_bytes);
  EXPECT_EQ(record::recorder().peak(), now().active_bytes);
  EXPECT_EQ(record::recorder().cut().live.size(), 3u);
  free_all(held);
  const record::Cut cut = record::recorder().cut();
  EXPECT_EQ(cut.counters.orphan_frees, 0u);
  EXPECT_TRUE(cut.live.empty());
  EXPECT_EQ(record::recorder().active(), 0u);
}

TEST_P(AllocatorRecord, a_pause_of_recording_loses_nothing) {
  start();
  const Buffer before = allocator().malloc(5000);
  const Buffer ended = allocator().malloc(9000);
  record::recorder().stop();
  allocator().free(ended);
  const Buffer during = allocator().malloc(7000);
  const Buffer small = allocator().malloc(7);
  start();
  EXPECT_EQ(record::recorder().active(), now().active_bytes);
  allocator().free(before);
  allocator().free(during);
  allocator().free(small);
  const record::Cut cut = record::recorder().cut();
  EXPECT_EQ(cut.counters.orphan_frees, 0u);
  EXPECT_EQ(cut.counters.double_allocs, 0u);
  EXPECT_TRUE(cut.live.empty());
}

TEST_P(AllocatorRecord, an_allocator_that_ends_leaves_nothing_in_the_record) {
  start();
  (void)allocator().malloc(5000);
  allocator().free(allocator().malloc(5));
  allocator().free(allocator().malloc(50'000));
  end_allocator();
  const record::Cut cut = record::recorder().cut();
  const Follower follower = followed(cut);
  EXPECT_EQ(follower.reserved(), 0u);
  EXPECT_TRUE(follower.live().empty());
  EXPECT_TRUE(cut.live.empty());
  EXPECT_TRUE(cut.segments.empty());
}

/// Whatever other threads do, a cut's events lead to exactly its live blocks and segments.
TEST_P(AllocatorRecord, a_cut_is_consistent_while_other_threads_allocate) {
  start();
  allocator().set_cache_limit(100'000);
  constexpr int kThreads = 3;
  constexpr int kRounds = 6000;  // fewer events than the ring holds
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &running] {
      std::vector<Buffer> held;
      for (int i = t; i < kRounds; ++i) {
        held.push_back(allocator().malloc(static_cast<std::uint64_t>(i) * 7919 % 30'000 + 1));
        if (held.size() > 5) {
          allocator().free(held.front());
          held.erase(held.begin());
        }
        if (i % 97 == 0) allocator().empty_cache();
      }
      for (const Buffer buffer : held) allocator().free(buffer);
      --running;
    });
  }
  do {
    const record::Cut cut = record::recorder().cut();
    EXPECT_EQ(cut.counters.events_overwritten, 0u) << "the ring is too small for this test";
    const Follower follower = followed(cut);
    std::map<std::uint64_t, std::uint64_t> live;
    for (const record::LiveBlock& block : cut.live) live[block.address] = block.size;
    EXPECT_EQ(follower.live(), live);
    std::map<std::uint64_t, std::uint64_t> listed;
    for (const record::SegmentState& segment : cut.segments) {
      listed[segment.address] = segment.size;
    }
    EXPECT_EQ(follower.listed(), listed);
  } while (running.load() > 0 && !HasFailure());
  for (std::thread& thread : threads) thread.join();
  const Follower follower = followed(record::recorder().cut());
  EXPECT_EQ(follower.reserved(), now().reserved_bytes);
}

}  // namespace
}  // namespace strandline::alloc
