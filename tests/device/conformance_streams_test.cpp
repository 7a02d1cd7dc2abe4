// SPDX-License-Identifier: Apache-2.0
// Conformance: streams, device events, queued work and its errors.
#include <future>
#include <thread>

#include "device/conformance.h"

namespace strandline::device {
namespace {

class StreamConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, StreamConformance, testing::ValuesIn(all_backends()),
                         backend_name);

TEST_P(StreamConformance, work_of_a_stream_is_done_in_order) {
  const Allocation a = memory().allocate(1024);
  const Allocation b = memory().allocate(1024);
  const StreamId stream = streams().create();
  streams().fill(stream, a.slice(), std::byte{1});
  streams().copy(stream, b.slice(), a.slice());
  streams().fill(stream, a.slice(), std::byte{2});
  streams().copy(stream, b.slice(0, 512), a.slice(512, 512));
  EXPECT_EQ(read(b.slice(0, 512)), repeated(2, 512));
  EXPECT_EQ(read(b.slice(512, 512)), repeated(1, 512));
}

TEST_P(StreamConformance, host_tasks_run_between_earlier_and_later_work) {
  std::vector<int> order;
  const StreamId stream = streams().create();
  for (int i = 0; i < 3; ++i) {
    streams().enqueue_host_task(stream, "note", [&order, i] { order.push_back(i); });
  }
  streams().wait(stream);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_THROW(streams().enqueue_host_task(stream, "nothing", {}), InvalidArgument);
}

TEST_P(StreamConformance, an_event_is_pending_until_the_work_before_it_is_done) {
  const StreamId stream = streams().create();
  const DeviceEventId event = streams().create_event();
  EXPECT_EQ(streams().query(event), EventStatus::done) << "never recorded";
  streams().wait(event);
  std::promise<void> gate;
  streams().enqueue_host_task(stream, "gate", [&gate] { gate.get_future().wait(); });
  streams().record(event, stream);
  EXPECT_EQ(streams().query(event), EventStatus::pending);
  EXPECT_EQ(streams().query(stream), EventStatus::pending);
  gate.set_value();
  streams().wait(event);
  EXPECT_EQ(streams().query(event), EventStatus::done);
  streams().wait(stream);
  EXPECT_EQ(streams().query(stream), EventStatus::done);
  EXPECT_EQ(streams().destroy_event(event), FreeStatus::freed);
  EXPECT_EQ(streams().destroy_event(event), FreeStatus::unknown);
}

TEST_P(StreamConformance, a_stream_that_waits_for_an_event_runs_behind_it) {
  const StreamId first = streams().create();
  const StreamId second = streams().create();
  const DeviceEventId event = streams().create_event();
  std::vector<int> order;
  std::promise<void> gate;
  streams().enqueue_host_task(first, "gate", [&] {
    gate.get_future().wait();
    order.push_back(1);
  });
  streams().record(event, first);
  streams().wait_event(second, event);
  EXPECT_EQ(streams().destroy_event(event), FreeStatus::freed) << "the wait stays";
  streams().enqueue_host_task(second, "second", [&order] { order.push_back(2); });
  gate.set_value();
  streams().wait(second);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_P(StreamConformance, recording_again_moves_the_event) {
  const StreamId stream = streams().create();
  const DeviceEventId event = streams().create_event();
  int done = 0;
  streams().enqueue_host_task(stream, "one", [&done] { ++done; });
  streams().record(event, stream);
  streams().enqueue_host_task(stream, "two", [&done] { ++done; });
  streams().record(event, stream);
  streams().wait(event);
  EXPECT_EQ(done, 2);
}

TEST_P(StreamConformance, an_error_is_thrown_once_and_names_the_operation) {
  const StreamId stream = streams().create();
  int later = 0;
  streams().enqueue_host_task(stream, "softmax", [] { throw std::runtime_error("it went wrong"); });
  streams().enqueue_host_task(stream, "later", [&later] { ++later; });
  const std::string text = message_of<DeviceError>([&] { streams().wait(stream); });
  EXPECT_NE(text.find("softmax"), std::string::npos) << text;
  EXPECT_NE(text.find("it went wrong"), std::string::npos) << text;
  EXPECT_EQ(later, 1) << "later work still runs";
  EXPECT_NO_THROW(streams().wait(stream));
}

TEST_P(StreamConformance, what_the_data_has_outside_is_thrown_as_such) {
  const StreamId stream = streams().create();
  streams().enqueue_host_task(stream, "gather", [] { throw OutOfRange("[gather] index; got 7"); });
  const std::string text = message_of<OutOfRange>([&] { streams().wait(stream); });
  EXPECT_NE(text.find("[gather] index; got 7 (found by gather on stream"), std::string::npos)
      << text;
  EXPECT_NO_THROW(streams().wait(stream));
}

TEST_P(StreamConformance, an_error_travels_with_device_events_and_is_thrown_once_for_all) {
  const StreamId first = streams().create();
  const StreamId second = streams().create();
  const DeviceEventId before = streams().create_event();
  const DeviceEventId behind = streams().create_event();
  streams().record(before, first);
  streams().enqueue_host_task(first, "matmul", [] { throw std::runtime_error("bad"); });
  streams().record(behind, first);
  streams().wait_event(second, behind);
  EXPECT_NO_THROW(streams().wait(before)) << "recorded before the failure";
  EXPECT_NE(message_of<DeviceError>([&] { streams().wait(second); }).find("matmul"),
            std::string::npos);
  EXPECT_NO_THROW(streams().wait(behind));
  EXPECT_NO_THROW(streams().wait(first));
  EXPECT_EQ(device().counts().errors_lost, 0u);
}

TEST_P(StreamConformance, a_stream_destroyed_with_an_error_counts_it_as_lost) {
  const StreamId stream = streams().create();
  streams().enqueue_host_task(stream, "lost", [] { throw std::runtime_error("unseen"); });
  EXPECT_EQ(streams().destroy(stream), FreeStatus::freed);
  EXPECT_EQ(device().counts().errors_lost, 1u);
}

TEST_P(StreamConformance, queued_work_may_free_memory_but_not_wait) {
  const Allocation held = memory().allocate(4096);
  const StreamId stream = streams().create();
  FreeStatus status = FreeStatus::unknown;
  streams().enqueue_host_task(stream, "free", [&] { status = memory().deallocate(held.address); });
  streams().wait(stream);
  EXPECT_EQ(status, FreeStatus::freed);
  streams().enqueue_host_task(stream, "wait", [&] { streams().wait(stream); });
  EXPECT_NE(message_of<DeviceError>([&] { streams().wait(stream); }).find("may not wait"),
            std::string::npos);
}

TEST_P(StreamConformance, unknown_streams_and_events_are_invalid) {
  const StreamId none{4000000000u};
  const DeviceEventId no_event{1u << 30};
  EXPECT_THROW(streams().wait(none), InvalidArgument);
  EXPECT_THROW(streams().submit(none), InvalidArgument);
  EXPECT_THROW((void)streams().query(none), InvalidArgument);
  EXPECT_THROW(streams().fill(none, {}, std::byte{0}), InvalidArgument);
  EXPECT_THROW(streams().wait(no_event), InvalidArgument);
  EXPECT_THROW(streams().record(no_event, streams().default_stream()), InvalidArgument);
  EXPECT_THROW(streams().wait_event(streams().default_stream(), no_event), InvalidArgument);
  EXPECT_EQ(streams().destroy(none), FreeStatus::unknown);
  EXPECT_EQ(streams().destroy(streams().default_stream()), FreeStatus::refused);
  const StreamId gone = streams().create();
  EXPECT_EQ(streams().destroy(gone), FreeStatus::freed);
  EXPECT_THROW(streams().wait(gone), InvalidArgument);
}

TEST_P(StreamConformance, copies_of_different_sizes_are_refused_and_empty_ones_do_nothing) {
  const Allocation a = memory().allocate(64);
  const StreamId stream = streams().default_stream();
  EXPECT_THROW(streams().copy(stream, a.slice(0, 8), a.slice(8, 16)), InvalidArgument);
  EXPECT_THROW(streams().fill(stream, {~std::uint64_t{0}, 2, {}}, std::byte{0}), InvalidArgument);
  streams().copy(stream, {}, {});
  streams().fill(stream, {}, std::byte{0});
  EXPECT_NO_THROW(streams().wait(stream));
}

TEST_P(StreamConformance, work_sees_what_was_queued_before_it) {
  if (!facts().supports.work || !facts().supports.host_reads_device) GTEST_SKIP();
  const Allocation a = memory().allocate(64);
  const StreamId stream = streams().create();
  streams().fill(stream, a.slice(), std::byte{3});
  const auto add = [bytes = reinterpret_cast<std::uint8_t*>(a.address)] {
    for (int i = 0; i < 64; ++i) ++bytes[i];
  };
  streams().enqueue(stream, Work{.name = "add one",
                                 .accesses = {{a.slice(), AccessMode::read_write}},
                                 .binds = {},
                                 .body = add});
  EXPECT_EQ(read(a.slice()), repeated(4, 64));
}

TEST_P(StreamConformance, calls_are_counted_by_kind) {
  const CallCounts before = device().counts();
  const StreamId stream = streams().create();
  streams().submit(stream);
  streams().wait(stream);
  streams().wait_all();
  const CallCounts after = device().counts();
  EXPECT_EQ(after.of(Call::create_stream), before.of(Call::create_stream) + 1);
  EXPECT_EQ(after.of(Call::submit), before.of(Call::submit) + 1);
  EXPECT_EQ(after.waits(), before.waits() + 2);
}

TEST_P(StreamConformance, threads_with_a_stream_each_do_not_disturb_one_another) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::vector<std::thread> threads;
  std::vector<int> sums(kThreads, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &sums] {
      const StreamId stream = streams().create();
      for (int i = 0; i < kRounds; ++i) {
        const Allocation held = memory().allocate(4096);
        streams().fill(stream, held.slice(), std::byte{1});
        streams().enqueue_host_task(stream, "sum", [&sums, t] { ++sums[static_cast<size_t>(t)]; });
        streams().wait(stream);
        memory().deallocate(held.address);
      }
      streams().destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<int>(kThreads, kRounds));
}

}  // namespace
}  // namespace strandline::device
