// SPDX-License-Identifier: Apache-2.0
// The simulation's order: when work runs, in which interleaving, what orders it, what a missing
// dependency does, graphs, and the virtual clock.
#include <algorithm>

#include "device/sim_support.h"

namespace strandline::sim {
namespace {

using device::Allocation;
using device::EventStatus;

TEST(SimOrder, work_runs_at_a_wait_or_when_it_is_told_to) {
  SimTest sim;
  std::vector<int> order;
  sim.streams().enqueue_host_task(sim.a, "a", [&] { order.push_back(1); });
  sim.streams().enqueue_host_task(sim.b, "b", [&] { order.push_back(2); });
  sim.streams().submit(sim.a);
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(sim.machine.pending(sim.a), 1u);
  sim.streams().wait(sim.b);
  EXPECT_EQ(order, std::vector<int>{2}) << "a wait runs no more than it needs";
  EXPECT_TRUE(sim.machine.run_one(sim.a));
  EXPECT_FALSE(sim.machine.run_one(sim.a));
  sim.streams().enqueue_host_task(sim.a, "a", [&] { order.push_back(3); });
  EXPECT_FALSE(sim.machine.run_one(sim.a)) << "it was not submitted";
  sim.machine.run_all();
  EXPECT_EQ(order, (std::vector<int>{2, 1, 3}));
}

TEST(SimOrder, work_may_run_at_submit_instead) {
  SimTest sim({.run_at = RunAt::submit});
  int runs = 0;
  sim.streams().enqueue_host_task(sim.a, "a", [&] { ++runs; });
  EXPECT_EQ(runs, 0);
  sim.streams().submit(sim.a);
  EXPECT_EQ(runs, 1);
}

std::vector<int> interleaved(const MachineOptions& options, Chooser chooser = {}) {
  SimTest sim(options);
  sim.machine.set_chooser(std::move(chooser));
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) {
    sim.streams().enqueue_host_task(sim.a, "a", [&order, i] { order.push_back(i); });
    sim.streams().enqueue_host_task(sim.b, "b", [&order, i] { order.push_back(10 + i); });
  }
  sim.streams().submit(sim.a);
  sim.streams().submit(sim.b);
  sim.machine.run_all();
  return order;
}

TEST(SimOrder, the_interleaving_of_streams_is_chosen_or_seeded) {
  EXPECT_EQ(interleaved({}), (std::vector<int>{0, 10, 1, 11, 2, 12, 3, 13}));
  const MachineOptions one{.interleaving = Interleaving::seeded, .seed = 1};
  EXPECT_EQ(interleaved(one), interleaved(one));
  std::vector<std::vector<int>> different;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    different.push_back(interleaved({.interleaving = Interleaving::seeded, .seed = seed}));
  }
  std::sort(different.begin(), different.end());
  EXPECT_GT(std::unique(different.begin(), different.end()) - different.begin(), 3);
  const auto b_first = [](std::span<const Candidate> candidates) {
    return candidates.size() - 1;  // the stream whose turn is later is younger
  };
  const std::vector<int> chosen = interleaved({}, b_first);
  EXPECT_EQ(chosen.front(), 10);
  EXPECT_EQ(chosen.size(), 8u);
}

TEST(SimOrder, a_bad_choice_is_refused) {
  SimTest sim;
  sim.streams().enqueue_host_task(sim.a, "a", [] {});
  sim.machine.set_chooser([](std::span<const Candidate> candidates) { return candidates.size(); });
  EXPECT_THROW(sim.streams().wait(sim.a), InvalidArgument);
  sim.machine.set_chooser({});
  EXPECT_NO_THROW(sim.streams().wait(sim.a));
}

/// Writes 2 through one buffer, then reads through another (or the same); what the read saw.
std::uint8_t read_through_two_buffers(SimTest& sim, bool same_buffer, bool submit_between) {
  const Allocation data = sim.filled(4096, 1);
  const Allocation target = sim.filled(4096, 0);
  const device::BufferId other = sim.memory().wrap(data.address, 4096);
  sim.streams().fill(sim.a, data.slice(), std::byte{2});
  if (submit_between) sim.streams().submit(sim.a);
  sim.streams().copy(sim.a, target.slice(),
                     {data.address, 4096, same_buffer ? data.buffer : other});
  sim.streams().wait(sim.a);
  return sim.bytes(target)[0];
}

TEST(SimOrder, two_buffers_over_the_same_bytes_see_stale_data_in_one_submission) {
  const MachineOptions metal{.order = StreamOrder::by_buffer,
                             .interleaving = Interleaving::newest_first};
  {
    SimTest sim(metal);
    EXPECT_EQ(read_through_two_buffers(sim, false, false), 1) << "stale";
    EXPECT_EQ(sim.kinds(), std::vector<FindingKind>{FindingKind::unordered});
  }
  {
    SimTest sim(metal);
    EXPECT_EQ(read_through_two_buffers(sim, true, false), 2) << "one buffer keeps order";
    EXPECT_EQ(read_through_two_buffers(sim, false, true), 2) << "so does another submission";
    EXPECT_TRUE(sim.kinds().empty());
  }
  SimTest sim({.interleaving = Interleaving::newest_first});
  EXPECT_EQ(read_through_two_buffers(sim, false, false), 2) << "streams that order everything";
  EXPECT_TRUE(sim.kinds().empty());
}

TEST(SimOrder, a_dropped_dependency_between_streams_is_found) {
  for (const bool ordered : {true, false}) {
    SimTest sim({.interleaving = Interleaving::newest_first});
    const Allocation data = sim.filled(4096, 1);
    const Allocation target = sim.filled(4096, 0);
    sim.streams().fill(sim.a, data.slice(), std::byte{2});
    if (ordered) sim.order(sim.a, sim.b);
    sim.streams().copy(sim.b, target.slice(), data.slice());
    sim.streams().wait_all();
    EXPECT_EQ(sim.bytes(target)[0] == 2, ordered);
    ASSERT_EQ(sim.kinds().empty(), ordered);
    if (ordered) continue;
    const Finding found = sim.machine.findings().front();
    EXPECT_EQ(found.kind, FindingKind::unordered);
    EXPECT_EQ(found.operation, "copy");
    EXPECT_EQ(found.other, "fill");
    EXPECT_EQ(describe(found).substr(0, 34), "unordered access: copy on stream 3");
  }
}

TEST(SimOrder, a_dependency_dropped_in_a_capture_is_found_at_replay) {
  for (const bool dropped : {false, true}) {
    SimTest sim({.interleaving = Interleaving::newest_first});
    const Allocation data = sim.filled(4096, 1);
    const Allocation target = sim.filled(4096, 0);
    sim.capture().begin(sim.a);
    sim.streams().fill(sim.a, data.slice(), std::byte{2});
    const std::vector<device::NodeId> fill = sim.capture().info(sim.a).terminals;
    if (dropped) sim.capture().set_terminals(sim.a, {});
    sim.streams().copy(sim.a, target.slice(), data.slice());
    std::vector<device::NodeId> both = sim.capture().info(sim.a).terminals;
    both.insert(both.end(), fill.begin(), fill.end());
    sim.capture().set_terminals(sim.a, both);
    const device::GraphId graph = sim.capture().end(sim.a);
    sim.capture().launch(graph, sim.a);
    sim.streams().wait(sim.a);
    EXPECT_EQ(sim.bytes(target)[0], dropped ? 1 : 2);
    EXPECT_EQ(sim.kinds().empty(), !dropped);
    sim.capture().destroy(graph);
  }
}

TEST(SimOrder, a_graph_keeps_the_buffers_it_binds_for_every_replay) {
  SimTest sim;
  const Allocation data = sim.filled(4096, 5);
  const Allocation target = sim.filled(4096, 0);
  sim.capture().begin(sim.a);
  sim.streams().copy(sim.a, target.slice(), data.slice());
  const device::GraphId graph = sim.capture().end(sim.a);
  sim.memory().deallocate(data.address);
  sim.capture().launch(graph, sim.a);
  sim.streams().wait(sim.a);
  EXPECT_EQ(sim.bytes(target)[0], 5);
  EXPECT_TRUE(sim.kinds().empty());
  const std::uint64_t before = sim.memory().info().free_bytes;
  sim.capture().destroy(graph);
  EXPECT_EQ(sim.memory().info().free_bytes, before + 4096);
}

TEST(SimOrder, events_of_one_device_order_streams_of_another) {
  SimTest sim({.devices = {{}, {}}, .interleaving = Interleaving::newest_first});
  device::Device& second = sim.machine.device({1});
  const StreamId there = second.streams().create();
  std::vector<int> order;
  sim.streams().enqueue_host_task(sim.a, "first", [&] { order.push_back(1); });
  const device::DeviceEventId event = sim.streams().create_event();
  sim.streams().record(event, sim.a);
  second.streams().wait_event(there, event);
  second.streams().enqueue_host_task(there, "second", [&] { order.push_back(2); });
  second.streams().wait(there);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_THROW(sim.streams().wait(there), InvalidArgument) << "a stream of the other device";
}

TEST(SimOrder, polling_drives_nothing) {
  SimTest sim;
  const device::DeviceEventId event = sim.streams().create_event();
  sim.streams().enqueue_host_task(sim.a, "work", [] {});
  sim.streams().record(event, sim.a);
  sim.streams().submit(sim.a);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sim.streams().query(event), EventStatus::pending);
  sim.machine.run_one(sim.a);
  EXPECT_EQ(sim.streams().query(event), EventStatus::pending) << "the point itself is not reached";
  sim.machine.run_one(sim.a);
  EXPECT_EQ(sim.streams().query(event), EventStatus::done);
}

TEST(SimOrder, virtual_time_passes_by_calls_and_work_and_streams_run_side_by_side) {
  MachineOptions options;
  options.costs.call_ns.fill(0);
  options.costs.call_ns[static_cast<std::size_t>(device::Call::allocate)] = 500;
  options.costs.call_ns[static_cast<std::size_t>(device::Call::run)] = 100;
  options.costs.bytes_per_ns = 1;
  SimTest sim(options);
  const Allocation first = sim.allocate(1000);
  const Allocation second = sim.allocate(1000);
  EXPECT_EQ(sim.machine.now_ns(), 1000u);
  sim.streams().fill(sim.a, first.slice(), std::byte{1});   // 1000 .. 2100
  sim.streams().fill(sim.b, second.slice(), std::byte{1});  // 1000 .. 2100, side by side
  const device::DeviceEventId event = sim.streams().create_event();
  sim.streams().record(event, sim.a);
  EXPECT_EQ(sim.machine.event_ns(event), 0u);
  sim.order(sim.b, sim.a);
  sim.streams().fill(sim.a, first.slice(0, 500), std::byte{1});  // 2100 .. 2700
  EXPECT_EQ(sim.machine.now_ns(), 1000u) << "queueing is free here";
  sim.streams().wait(sim.a);
  EXPECT_EQ(sim.machine.now_ns(), 2700u);
  EXPECT_EQ(sim.machine.event_ns(event), 2100u);
}

}  // namespace
}  // namespace strandline::sim
