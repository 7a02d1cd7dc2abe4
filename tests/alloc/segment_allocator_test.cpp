// SPDX-License-Identifier: Apache-2.0
// SegmentAllocator beyond the contract: streams and uses, pools, callbacks, history, statistics.
#include "strandline/alloc/segment_allocator.h"

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/contract/contract.h"
#include "alloc/program/logged_device.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"
#include "strandline/record/recorder.h"

namespace strandline::alloc {
namespace {

using record::Action;
using testing::ElementsAre;

constexpr std::uint64_t kMiB = 1 << 20;

class Segments : public testing::Test {
 protected:
  ~Segments() override { allocator_.validate(); }

  Buffer malloc(std::uint64_t bytes, StreamId stream) {
    return allocator_.malloc(bytes, {.stream = stream});
  }
  void work(StreamId stream) {
    machine_.device().streams().enqueue(stream,
                                        {.name = "work", .accesses = {}, .binds = {}, .body = {}});
  }
  SegmentStatistics now() const { return allocator_.segment_statistics(); }

  sim::Machine machine_;
  SegmentAllocator allocator_{machine_.device()};
  StreamId a_ = machine_.device().streams().create();
  StreamId b_ = machine_.device().streams().create();
};

// -- streams --------------------------------------------------------------------------------------

TEST_F(Segments, a_free_block_serves_its_own_stream_alone) {
  const Buffer first = malloc(5000, a_);
  allocator_.free(first);
  EXPECT_NE(malloc(5000, b_).address(), first.address());
  EXPECT_EQ(malloc(5000, a_).address(), first.address());
  EXPECT_EQ(now().segment.all.current, 2);
}

TEST_F(Segments, memory_used_by_another_stream_waits_for_that_work_and_no_longer) {
  const Buffer buffer = malloc(3 * kMiB, a_);
  work(b_);
  allocator_.record_stream(buffer, b_);
  allocator_.free(buffer);
  EXPECT_EQ(now().active.all.current, 1);
  EXPECT_EQ(now().allocation.all.current, 0);
  EXPECT_EQ(now().pending_free_bytes, 3 * kMiB);
  EXPECT_EQ(allocator_.statistics().allocated_bytes, 0u);
  EXPECT_EQ(allocator_.statistics().active_bytes, 3 * kMiB);
  EXPECT_EQ(allocator_.try_free(buffer), device::FreeStatus::unknown) << "freed twice";
  const Buffer other = malloc(3 * kMiB, a_);
  EXPECT_NE(other.address(), buffer.address());
  allocator_.validate();
  EXPECT_EQ(allocator_.poll(), 0u);
  machine_.run_all();
  EXPECT_EQ(allocator_.poll(), 1u);
  EXPECT_EQ(now().active.all.current, 1);
  EXPECT_EQ(malloc(3 * kMiB, a_).address(), buffer.address());
}

TEST_F(Segments, the_latest_use_of_a_stream_counts) {
  const Buffer buffer = malloc(3 * kMiB, a_);
  allocator_.record_stream(buffer, b_);
  work(b_);
  allocator_.record_stream(buffer, b_);
  allocator_.free(buffer);
  EXPECT_EQ(allocator_.poll(), 0u);
  machine_.run_all();
  EXPECT_EQ(allocator_.poll(), 1u);
}

TEST_F(Segments, uses_of_the_own_stream_of_null_and_of_unknown_ones) {
  const Buffer buffer = malloc(512, a_);
  const std::uint64_t events = machine_.device().counts().of(device::Call::record_event);
  allocator_.record_stream(buffer, a_);
  allocator_.record_stream({}, b_);
  EXPECT_EQ(machine_.device().counts().of(device::Call::record_event), events);
  EXPECT_THROW(allocator_.record_stream(buffer, StreamId{4'000'000'000u}), InvalidArgument);
  allocator_.free(buffer);
  EXPECT_THROW(allocator_.record_stream(buffer, b_), InvalidArgument);
}

TEST_F(Segments, emptying_the_cache_waits_for_uses) {
  const Buffer buffer = malloc(12 * kMiB, a_);
  work(b_);
  allocator_.record_stream(buffer, b_);
  allocator_.free(buffer);
  EXPECT_EQ(allocator_.empty_cache(), 12 * kMiB);
  EXPECT_EQ(machine_.pending(b_), 0u);
  EXPECT_EQ(now().num_sync_all_streams, 1u);
}

// -- the same block again and again ---------------------------------------------------------------

TEST_F(Segments, a_pair_repeated_counts_as_if_each_were_alone) {
  const Buffer low = malloc(5000, a_);
  const SegmentStatistics before = now();
  for (int i = 0; i < 10; ++i) {
    const Buffer buffer = malloc(7000, a_);
    allocator_.free(buffer);
  }
  const SegmentStatistics after = now();
  EXPECT_EQ(after.inactive_split.all.current, before.inactive_split.all.current);
  EXPECT_EQ(after.inactive_split_bytes.all.current, before.inactive_split_bytes.all.current);
  EXPECT_EQ(after.inactive_split_bytes.all.freed - before.inactive_split_bytes.all.freed,
            10 * 7168);
  EXPECT_EQ(after.allocation.all.allocated - before.allocation.all.allocated, 10);
  allocator_.validate();
  EXPECT_EQ(malloc(7000, a_).address(), low.address() + 5120);
}

// Pairs are counted together when somebody looks: two allocators live through the same, and one is
// looked at after each call.
TEST_F(Segments, statistics_do_not_depend_on_how_often_they_are_asked_for) {
  SegmentAllocator watched(machine_.device());
  std::mt19937_64 random(7);
  std::vector<std::pair<Buffer, Buffer>> held;
  std::uint64_t bytes = 1000;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t choice = random() % 100;
    if (choice < 10) bytes = random() % (3 * kMiB) + 1;
    if (choice < 12) bytes += 1;  // mostly of the same rounded size
    const StreamId stream = choice < 5 ? b_ : a_;
    if (held.empty() || (choice % 2 == 0 && held.size() < 20)) {
      held.emplace_back(malloc(bytes, stream), watched.malloc(bytes, {.stream = stream}));
    } else {
      const std::size_t which = choice < 80 ? held.size() - 1 : random() % held.size();
      allocator_.free(held[which].first);
      watched.free(held[which].second);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    for (SegmentAllocator* one : {&allocator_, &watched}) {
      if (choice == 99) one->reset_peaks();
      if (choice == 98) one->reset_accumulated();
    }
    const SegmentStatistics seen = watched.segment_statistics();
    if (choice > 92) {
      ASSERT_EQ(now(), seen) << "step " << step;
    }
  }
  for (const auto& [ours, other] : held) {
    allocator_.free(ours);
    watched.free(other);
  }
  EXPECT_EQ(now(), watched.segment_statistics());
}

// The block that was freed while the device was asked waits parked for its next request, which is
// not one of the size that the device was asked for.
TEST(SegmentsMeanwhile, what_is_freed_while_the_device_is_asked_serves_its_own_size) {
  program::LoggedDevice device(100 * kMiB, false);
  SegmentAllocator allocator(device);
  Buffer meanwhile;
  device.log.on_allocate = [&] {
    meanwhile = allocator.malloc(5000);
    allocator.free(meanwhile);
  };
  const Buffer arrived = allocator.malloc(3 * kMiB);
  allocator.validate();
  const Buffer next = allocator.malloc(3 * kMiB);
  EXPECT_EQ(allocator.size(next), 3 * kMiB);
  EXPECT_EQ(next.address(), arrived.address() + 3 * kMiB);
  EXPECT_EQ(allocator.malloc(5000).address(), meanwhile.address());
  allocator.validate();
}

// -- pools ----------------------------------------------------------------------------------------

TEST_F(Segments, a_filter_says_which_streams_a_scope_takes) {
  const PoolId pool = allocator_.create_pool();
  allocator_.begin_pool(pool, [this](StreamId stream) { return stream == a_; });
  (void)malloc(512, a_);
  (void)malloc(2 * kMiB, b_);
  std::thread([this] { (void)malloc(512, a_); }).join();
  EXPECT_EQ(now().reserved_bytes_by_private_pools.at(pool).all.current,
            static_cast<std::int64_t>(2 * kMiB));
  allocator_.end_pool(pool);
  EXPECT_EQ(allocator_.pool_segments(pool).at(0).blocks.size(), 3u);
  EXPECT_EQ(allocator_.pool_segments({}).size(), 1u);
}

TEST_F(Segments, pools_that_are_not_there_are_errors_that_name_them) {
  EXPECT_THROW(allocator_.begin_pool(PoolId{7}), InvalidArgument);
  EXPECT_THROW(allocator_.end_pool(PoolId{7}), InvalidArgument);
  EXPECT_THROW(allocator_.release_pool(PoolId{7}), InvalidArgument);
  const PoolId pool = allocator_.create_pool();
  EXPECT_EQ(allocator_.pool_uses(pool), 1u);
  allocator_.release_pool(pool);
  EXPECT_THROW(allocator_.release_pool(pool), InvalidArgument);
}

TEST_F(Segments, memory_of_a_graph_stays_in_place_until_the_last_use_ends) {
  const PoolId pool = allocator_.create_pool({.holds_graph = true});
  allocator_.begin_pool(pool);
  allocator_.free(malloc(12 * kMiB, a_));
  allocator_.end_pool(pool);
  allocator_.set_memory_limit(12 * kMiB, LimitRule::hard);
  EXPECT_THROW((void)malloc(512, a_), OutOfMemory);
  EXPECT_EQ(allocator_.empty_pool(pool), 0u);
  allocator_.destroy_pool(pool);
  EXPECT_EQ(now().reserved_bytes.all.current, 0);
}

TEST_F(Segments, pools_that_keep_a_reserve_serve_when_there_is_nothing_else) {
  const PoolId pool = allocator_.create_pool({.use_on_oom = true});
  allocator_.begin_pool(pool);
  const Buffer reserve = malloc(40 * kMiB, a_);
  allocator_.end_pool(pool);
  allocator_.free(reserve);
  allocator_.set_memory_limit(40 * kMiB, LimitRule::hard);
  EXPECT_EQ(malloc(30 * kMiB, a_).address(), reserve.address());
}

TEST_F(Segments, blocks_of_a_no_split_pool_are_whole) {
  const PoolId pool = allocator_.create_pool({.no_split = true});
  allocator_.begin_pool(pool);
  EXPECT_EQ(allocator_.size(malloc(1000, a_)), 2 * kMiB);
  allocator_.end_pool(pool);
}

// -- callbacks ------------------------------------------------------------------------------------

TEST_F(Segments, a_free_memory_callback_may_free_and_is_asked_on_a_miss_alone) {
  Buffer kept = malloc(12 * kMiB, a_);
  int asked = 0;
  const CallbackId id = allocator_.add_free_memory_callback([&] {
    ++asked;
    allocator_.free(std::exchange(kept, {}));  // under a lock this would never return
    return true;
  });
  const Buffer reused = malloc(12 * kMiB, a_);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(now().segment.all.allocated, 1);
  allocator_.free(reused);
  (void)malloc(12 * kMiB, a_);
  EXPECT_EQ(asked, 1);
  allocator_.remove_callback(id);
  (void)malloc(12 * kMiB, a_);
  EXPECT_EQ(asked, 1);
}

TEST_F(Segments, observers_are_told_what_was_asked_and_what_there_was) {
  std::vector<OutOfMemoryReport> reports;
  (void)allocator_.add_out_of_memory_observer([&](const OutOfMemoryReport& report) {
    reports.push_back(report);
    (void)allocator_.statistics();
  });
  (void)malloc(3 * kMiB, a_);
  allocator_.set_memory_limit(30 * kMiB, LimitRule::hard);
  EXPECT_THROW((void)malloc(18'000'000, a_), OutOfMemory);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].requested_bytes, 18'000'000u);
  EXPECT_EQ(reports[0].device_request_bytes, 18 * kMiB);
  EXPECT_EQ(reports[0].limit_bytes, 30 * kMiB);
  EXPECT_EQ(reports[0].largest_hole_bytes, 17 * kMiB);
  EXPECT_EQ(now().num_ooms, 1u);
}

// -- history --------------------------------------------------------------------------------------

TEST_F(Segments, trackers_and_the_recorder_hear_the_same) {
  reset_recorder();
  std::vector<TraceEntry> heard;
  const CallbackId id =
      allocator_.add_trace_tracker([&](const TraceEntry& entry) { heard.push_back(entry); });
  record::recorder().start({.stacks = record::Stacks::none});
  const PoolId pool = allocator_.create_pool();
  allocator_.begin_pool(pool);
  const Buffer buffer = malloc(3'000'000, a_);
  allocator_.end_pool(pool);
  work(b_);
  allocator_.record_stream(buffer, b_);
  allocator_.free(buffer);
  machine_.run_all();
  (void)allocator_.poll();
  allocator_.destroy_pool(pool);
  record::recorder().stop();
  allocator_.remove_callback(id);
  const record::Cut cut = record::recorder().cut();
  record::Tables& tables = record::recorder().tables();
  ASSERT_EQ(cut.events.size(), heard.size());
  std::vector<Action> actions;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const record::Event& event = cut.events[i];
    actions.push_back(event.action);
    EXPECT_EQ(event.action, heard[i].action);
    EXPECT_EQ(event.address, heard[i].address);
    EXPECT_EQ(tables.streams.handle(event.stream).first, a_.value);
    EXPECT_EQ(tables.pools.handle(event.pool).second, pool.value);
    EXPECT_EQ(heard[i].pool, pool);
  }
  EXPECT_THAT(actions, ElementsAre(Action::segment_alloc, Action::alloc, Action::free_requested,
                                   Action::free_completed, Action::segment_free));
  reset_recorder();
}

TEST_F(Segments, segments_show_pending_blocks_pools_and_streams) {
  const Buffer buffer = malloc(3'000'000, a_);
  work(b_);
  allocator_.record_stream(buffer, b_);
  allocator_.free(buffer);
  const std::vector<record::SegmentState> segments = allocator_.segments();
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].size, 20 * kMiB);
  EXPECT_EQ(segments[0].stream, a_);
  EXPECT_FALSE(segments[0].is_small);
  ASSERT_EQ(segments[0].blocks.size(), 2u);
  EXPECT_EQ(segments[0].blocks[0].use, record::BlockUse::pending_free);
  EXPECT_EQ(segments[0].blocks[0].requested, 3'000'000u);
  EXPECT_EQ(segments[0].blocks[1].use, record::BlockUse::inactive);
}

// -- statistics -----------------------------------------------------------------------------------

TEST_F(Segments, sums_and_peaks_are_reset_apart) {
  const Buffer small = malloc(5000, a_);
  const Buffer large = malloc(3 * kMiB, a_);
  allocator_.free(large);
  allocator_.reset_accumulated();
  SegmentStatistics s = now();
  EXPECT_EQ(s.allocated_bytes.all, (Stat{5120, 5120 + std::int64_t{3 * kMiB}, 0, 0}));
  EXPECT_EQ(s.num_device_alloc, 0u);
  allocator_.reset_peaks();
  s = now();
  EXPECT_EQ(s.allocated_bytes.all, (Stat{5120, 5120, 0, 0}));
  EXPECT_EQ(s.allocated_bytes.large_pool, Stat{});
  allocator_.free(small);
  EXPECT_EQ(now().allocated_bytes.small_pool, (Stat{0, 5120, 0, 5120}));
}

TEST_F(Segments, threads_on_streams_of_their_own_meet_in_nothing) {
  std::vector<std::thread> threads;
  std::atomic<int> overlaps{0};
  for (int t = 0; t < 4; ++t) {
    const StreamId stream = machine_.device().streams().create();
    threads.emplace_back([this, stream, t, &overlaps] {
      std::vector<Buffer> held;
      for (int i = 0; i < 2000; ++i) {
        const auto bytes = static_cast<std::uint64_t>((i * 7919 + t) % 3'000'000 + 4);
        const Buffer buffer = malloc(bytes, stream);
        *static_cast<volatile int*>(buffer.raw_ptr()) = t;
        held.push_back(buffer);
        if (held.size() < 8) continue;
        const Buffer oldest = held.front();
        held.erase(held.begin());
        if (*static_cast<volatile int*>(oldest.ptr()) != t) ++overlaps;
        if (i % 3 == 0) allocator_.record_stream(oldest, a_);
        allocator_.free(oldest);
      }
      for (const Buffer buffer : held) allocator_.free(buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps.load(), 0);
  machine_.device().streams().wait_all();
  (void)allocator_.poll();
  EXPECT_EQ(now().active.all.current, 0);
}

}  // namespace
}  // namespace strandline::alloc
