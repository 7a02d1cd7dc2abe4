// SPDX-License-Identifier: Apache-2.0
// Conformance: captures, their dependencies, what breaks them, replay, conditional bodies.
#include <thread>

#include "device/conformance.h"

namespace strandline::device {
namespace {

class CaptureConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    if (!facts().supports.capture) GTEST_SKIP() << "no capture";
    a_ = streams().create();
    b_ = streams().create();
    data_ = memory().allocate(4096);
    streams().fill(a_, data_.slice(), std::byte{0});
    streams().wait(a_);
  }

  NodeId fill(StreamId stream, std::uint64_t offset, std::uint8_t value) {
    streams().fill(stream, data_.slice(offset, 64), std::byte{value});
    const CaptureInfo info = capture().info(stream);
    return info.terminals.size() == 1 ? info.terminals.front() : NodeId{};
  }
  void join(StreamId from, StreamId to) {
    const DeviceEventId event = streams().create_event();
    streams().record(event, from);
    streams().wait_event(to, event);
    streams().destroy_event(event);
  }
  std::uint8_t value_at(std::uint64_t offset) { return read(data_.slice(offset, 1)).front(); }

  StreamId a_;
  StreamId b_;
  Allocation data_;
};
INSTANTIATE_TEST_SUITE_P(Backends, CaptureConformance, testing::ValuesIn(all_backends()),
                         backend_name);

TEST_P(CaptureConformance, terminals_and_dependencies_follow_forks_and_joins) {
  capture().begin(a_);
  EXPECT_EQ(capture().info(a_).status, CaptureStatus::active);
  EXPECT_TRUE(capture().info(a_).terminals.empty());
  const NodeId first = fill(a_, 0, 1);
  join(a_, b_);
  EXPECT_EQ(capture().info(b_).id, capture().info(a_).id);
  EXPECT_EQ(capture().info(b_).terminals, std::vector<NodeId>{first});
  const NodeId second = fill(b_, 64, 2);
  EXPECT_EQ(capture().dependencies(second), std::vector<NodeId>{first});
  join(b_, a_);
  EXPECT_EQ(capture().info(a_).terminals, (std::vector<NodeId>{first, second}));
  const NodeId third = fill(a_, 128, 3);
  EXPECT_EQ(capture().dependencies(third), (std::vector<NodeId>{first, second}));
  const GraphId graph = capture().end(a_);
  EXPECT_EQ(capture().info(b_).status, CaptureStatus::none);
  EXPECT_EQ(value_at(0), 0) << "captured work is not done";
  capture().launch(graph, a_);
  EXPECT_EQ(value_at(0), 1);
  EXPECT_EQ(value_at(64), 2);
  EXPECT_EQ(value_at(128), 3);
  EXPECT_EQ(capture().destroy(graph), FreeStatus::freed);
  EXPECT_EQ(capture().destroy(graph), FreeStatus::unknown);
  EXPECT_THROW((void)capture().dependencies(third), InvalidArgument);
}

TEST_P(CaptureConformance, a_graph_may_be_launched_again_and_inside_another_capture) {
  int runs = 0;
  capture().begin(a_);
  streams().enqueue_host_task(a_, "count", [&runs] { ++runs; });
  const GraphId inner = capture().end(a_);
  capture().launch(inner, a_);
  capture().launch(inner, a_);
  streams().wait(a_);
  EXPECT_EQ(runs, 2);
  capture().begin(b_);
  capture().launch(inner, b_);
  capture().launch(inner, b_);
  const GraphId outer = capture().end(b_);
  streams().wait(b_);
  EXPECT_EQ(runs, 2);
  capture().launch(outer, b_);
  EXPECT_EQ(capture().destroy(outer), FreeStatus::freed) << "the queued launch still runs";
  streams().wait(b_);
  EXPECT_EQ(runs, 4);
}

TEST_P(CaptureConformance, work_that_nothing_joined_is_refused_at_the_end) {
  capture().begin(a_);
  fill(a_, 0, 1);
  join(a_, b_);
  fill(b_, 64, 2);
  const std::string text = message_of<DeviceError>([&] { (void)capture().end(a_); });
  EXPECT_NE(text.find("unjoined"), std::string::npos) << text;
  EXPECT_EQ(capture().info(a_).status, CaptureStatus::none);
  streams().fill(a_, data_.slice(0, 64), std::byte{5});
  EXPECT_EQ(value_at(0), 5) << "the stream is ordinary again";
}

TEST_P(CaptureConformance, a_wait_or_a_query_breaks_the_capture) {
  const DeviceEventId event = streams().create_event();
  const std::vector<std::function<void()>> forbidden = {
      [&] { streams().wait(a_); },    [&] { (void)streams().query(a_); },
      [&] { streams().wait(event); }, [&] { (void)streams().query(event); },
      [&] { streams().wait_all(); },  [&] { (void)memory().allocate(64); }};
  for (const auto& call : forbidden) {
    capture().begin(a_);
    streams().record(event, a_);
    EXPECT_THROW(call(), DeviceError);
    EXPECT_EQ(capture().info(a_).status, CaptureStatus::broken);
    EXPECT_THROW(streams().fill(a_, data_.slice(), std::byte{1}), DeviceError);
    EXPECT_THROW((void)capture().end(a_), DeviceError);
  }
  EXPECT_NO_THROW(streams().wait(a_));
}

TEST_P(CaptureConformance, memory_is_freed_in_a_capture_only_by_a_relaxed_thread) {
  const Allocation held = memory().allocate(64);
  capture().begin(a_);
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::refused);
  EXPECT_THROW((void)capture().end(a_), DeviceError);
  capture().begin(a_);
  EXPECT_EQ(Capture::exchange_thread_mode(CaptureMode::relaxed), CaptureMode::global);
  const Allocation more = memory().allocate(64);
  EXPECT_EQ(memory().deallocate(more.address), FreeStatus::freed);
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::freed) << "it was not lost";
  EXPECT_EQ(Capture::exchange_thread_mode(CaptureMode::global), CaptureMode::relaxed);
  EXPECT_EQ(capture().destroy(capture().end(a_)), FreeStatus::freed);
}

TEST_P(CaptureConformance, the_mode_says_whose_calls_break_a_capture) {
  const auto other_thread_allocates = [this] {
    bool allowed = false;
    std::thread([this, &allowed] {
      try {
        memory().deallocate(memory().allocate(64).address);
        allowed = true;
      } catch (const DeviceError&) {
        allowed = false;
      }
    }).join();
    return allowed;
  };
  capture().begin(a_, CaptureMode::thread_local_);
  EXPECT_TRUE(other_thread_allocates());
  EXPECT_EQ(capture().info(a_).status, CaptureStatus::active);
  EXPECT_EQ(capture().destroy(capture().end(a_)), FreeStatus::freed);
  capture().begin(a_, CaptureMode::global);
  EXPECT_FALSE(other_thread_allocates());
  EXPECT_THROW((void)capture().end(a_), DeviceError);
  capture().begin(a_, CaptureMode::relaxed);
  memory().deallocate(memory().allocate(64).address);
  EXPECT_EQ(capture().info(a_).status, CaptureStatus::active);
  EXPECT_EQ(capture().destroy(capture().end(a_)), FreeStatus::freed);
}

TEST_P(CaptureConformance, captured_work_may_not_depend_on_uncaptured_work) {
  const DeviceEventId event = streams().create_event();
  streams().record(event, b_);
  capture().begin(a_);
  EXPECT_THROW(streams().wait_event(a_, event), DeviceError);
  EXPECT_THROW((void)capture().end(a_), DeviceError);
}

TEST_P(CaptureConformance, two_captures_do_not_become_one) {
  const DeviceEventId event = streams().create_event();
  capture().begin(a_);
  capture().begin(b_);
  streams().record(event, a_);
  EXPECT_THROW(streams().wait_event(b_, event), DeviceError);
  EXPECT_THROW((void)capture().end(a_), DeviceError);
  EXPECT_THROW((void)capture().end(b_), DeviceError);
  EXPECT_THROW(streams().wait_event(b_, event), DeviceError) << "its capture has ended";
}

TEST_P(CaptureConformance, captures_begin_and_end_where_they_may) {
  EXPECT_THROW(capture().begin(streams().default_stream()), InvalidArgument);
  EXPECT_THROW((void)capture().end(a_), InvalidArgument);
  capture().begin(a_);
  EXPECT_THROW(capture().begin(a_), InvalidArgument);
  EXPECT_EQ(streams().destroy(a_), FreeStatus::refused);
  join(a_, b_);
  EXPECT_THROW((void)capture().end(b_), InvalidArgument) << "it began elsewhere";
  bool refused = false;
  std::thread([&] {
    try {
      (void)capture().end(a_);
    } catch (const DeviceError&) {
      refused = true;
    }
  }).join();
  EXPECT_TRUE(refused) << "another thread began it";
  const GraphId graph = capture().end(a_);
  EXPECT_THROW(capture().launch(GraphId{9999}, a_), InvalidArgument);
  EXPECT_EQ(capture().destroy(graph), FreeStatus::freed);
}

TEST_P(CaptureConformance, replaced_terminals_are_what_the_next_node_depends_on) {
  capture().begin(a_);
  const NodeId first = fill(a_, 0, 1);
  const NodeId second = fill(a_, 64, 2);
  capture().set_terminals(a_, std::vector<NodeId>{first});
  const NodeId third = fill(a_, 128, 3);
  EXPECT_EQ(capture().dependencies(third), std::vector<NodeId>{first});
  EXPECT_THROW(capture().set_terminals(a_, std::vector<NodeId>{NodeId{12345}}), InvalidArgument);
  capture().set_terminals(a_, std::vector<NodeId>{second, third, second});
  EXPECT_EQ(capture().info(a_).terminals, (std::vector<NodeId>{second, third}));
  const GraphId graph = capture().end(a_);
  EXPECT_THROW(capture().set_terminals(a_, std::vector<NodeId>{first}), InvalidArgument);
  EXPECT_EQ(capture().destroy(graph), FreeStatus::freed);
}

TEST_P(CaptureConformance, a_capture_into_a_graph_adds_nodes_and_takes_them_back_when_it_breaks) {
  int runs = 0;
  const auto count = [&runs] { ++runs; };
  capture().begin(a_);
  streams().enqueue_host_task(a_, "one", count);
  const GraphId graph = capture().end(a_);
  capture().begin_into(a_, graph, {});
  streams().enqueue_host_task(a_, "broken", count);
  EXPECT_THROW(streams().wait(a_), DeviceError);
  EXPECT_THROW((void)capture().end(a_), DeviceError);
  capture().begin_into(a_, graph, {});
  streams().enqueue_host_task(a_, "two", count);
  EXPECT_EQ(capture().end(a_), graph);
  capture().launch(graph, a_);
  streams().wait(a_);
  EXPECT_EQ(runs, 2);
  EXPECT_THROW(capture().begin_into(a_, graph, {}), InvalidArgument) << "it was launched";
}

TEST_P(CaptureConformance, conditional_bodies_run_as_the_value_says) {
  if (!facts().supports.conditional_bodies || !facts().supports.host_reads_device) GTEST_SKIP();
  auto* const value = reinterpret_cast<std::uint32_t*>(data_.address);
  std::vector<int> ran(4, 0);
  capture().begin(a_);
  const Conditional loop =
      capture().add_conditional(a_, {.kind = ConditionKind::while_, .value = data_.slice(0, 4)});
  const Conditional choice = capture().add_conditional(
      a_, {.kind = ConditionKind::switch_, .value = data_.slice(4, 4), .body_count = 2});
  const Conditional maybe =
      capture().add_conditional(a_, {.kind = ConditionKind::if_, .value = data_.slice(8, 4)});
  EXPECT_EQ(capture().dependencies(choice.node), std::vector<NodeId>{loop.node});
  const GraphId graph = capture().end(a_);
  ASSERT_EQ(choice.bodies.size(), 2u);
  const auto body = [&](GraphId into, std::function<void()> task) {
    capture().begin_into(a_, into, {});
    streams().enqueue_host_task(a_, "body", std::move(task));
    EXPECT_EQ(capture().end(a_), into);
  };
  body(loop.bodies[0], [&ran, value] { ++ran[0], --value[0]; });
  body(choice.bodies[0], [&ran] { ++ran[1]; });
  body(choice.bodies[1], [&ran] { ++ran[2]; });
  body(maybe.bodies[0], [&ran] { ++ran[3]; });
  EXPECT_EQ(capture().destroy(loop.bodies[0]), FreeStatus::refused);
  EXPECT_THROW(capture().launch(loop.bodies[0], a_), InvalidArgument);
  const auto launch = [&](std::uint32_t times, std::uint32_t which, std::uint32_t whether) {
    value[0] = times, value[1] = which, value[2] = whether;
    capture().launch(graph, a_);
    streams().wait(a_);
  };
  launch(3, 1, 0);
  EXPECT_EQ(ran, (std::vector<int>{3, 0, 1, 0}));
  launch(0, 2, 7);
  EXPECT_EQ(ran, (std::vector<int>{3, 0, 1, 1})) << "no third case; any value but 0 is true";
}

TEST_P(CaptureConformance, bad_conditions_are_invalid) {
  if (!facts().supports.conditional_bodies) GTEST_SKIP();
  capture().begin(a_);
  EXPECT_THROW(capture().add_conditional(a_, {.value = data_.slice(0, 8)}), InvalidArgument);
  EXPECT_THROW(capture().add_conditional(a_, {.value = data_.slice(2, 4)}), InvalidArgument);
  EXPECT_THROW(capture().add_conditional(a_, {.value = data_.slice(0, 4), .body_count = 2}),
               InvalidArgument);
  EXPECT_THROW(capture().add_conditional(b_, {.value = data_.slice(0, 4)}), InvalidArgument);
  EXPECT_EQ(capture().destroy(capture().end(a_)), FreeStatus::freed);
}

}  // namespace
}  // namespace strandline::device
