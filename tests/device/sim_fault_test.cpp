// SPDX-License-Identifier: Apache-2.0
// Faults: the n-th call of every kind fails as documented, leaves nothing behind, and the same
// program succeeds afterwards.
#include "device/sim_support.h"

namespace strandline::sim {
namespace {

using device::Allocation;
using device::Call;
using device::FreeStatus;

/// A call on a free path was refused.
struct Refused {};

/// A program that makes every kind of call. What it holds is in its fields, so that `clean` can
/// give everything back wherever a fault stopped it.
struct Workload {
  explicit Workload(SimTest& test) : sim(test) {}

  static void must(FreeStatus status) {
    if (status != FreeStatus::freed) throw Refused{};
  }

  void run() {
    memory();
    pages();
    stream_work();
    captures();
    peers();
    give_back();
  }

  void memory() {
    first = sim.memory().allocate(4096);
    second = sim.memory().allocate(4096);
    sim.memory().make_resident(first.address);
    must(sim.memory().end_residency(first.address));
    wrapped = sim.memory().wrap(first.address, 4096);
    EXPECT_GT(sim.memory().info().free_bytes, 0u);
  }

  void pages() {
    device::AddressSpace& space = sim.gpu().address_space();
    const std::uint64_t page = sim.gpu().facts().page_bytes;
    base = space.reserve(page);
    physical = space.create_pages(page);
    space.map(base, physical);
    mapped = true;
    space.set_access(base, page, std::vector<device::DeviceIndex>{{0}});
  }

  void stream_work() {
    device::Streams& streams = sim.streams();
    stream = streams.create();
    event = streams.create_event();
    ordered = sim.memory().allocate_ordered(4096, stream);
    streams.fill(stream, first.slice(), std::byte{1});
    streams.record(event, stream);
    streams.wait_event(sim.b, event);
    streams.copy(sim.b, second.slice(), {first.address, 4096, wrapped});
    streams.enqueue(sim.b, {.name = "work", .accesses = {}, .binds = {}, .body = [] {}});
    streams.enqueue_host_task(stream, "task", [] {});
    must(sim.memory().deallocate_ordered(ordered.address, stream));
    ordered = {};
    streams.submit(stream);
    (void)streams.query(event);
    (void)streams.query(stream);
    streams.wait(event);
    streams.wait(stream);
    streams.wait_all();
  }

  void captures() {
    sim.streams().fill(stream, first.slice(0, 4), std::byte{0});
    sim.capture().begin(stream);
    sim.capture().add_conditional(stream, {.value = first.slice(0, 4)});
    const device::CaptureInfo info = sim.capture().info(stream);
    sim.capture().set_terminals(stream, info.terminals);
    EXPECT_TRUE(sim.capture().dependencies(info.terminals.front()).empty());
    graph = sim.capture().end(stream);
    sim.capture().launch(graph, stream);
    must(sim.capture().destroy(graph));
    graph = {};
    sim.streams().wait(stream);
  }

  void peers() {
    sim.gpu().peers().enable({1});
    must(sim.gpu().peers().disable({1}));
  }

  void give_back() {
    const std::uint64_t page = sim.gpu().facts().page_bytes;
    device::AddressSpace& space = sim.gpu().address_space();
    release(event, [&] { return sim.streams().destroy_event(event); });
    release(stream, [&] { return sim.streams().destroy(stream); });
    release(wrapped, [&] { return sim.memory().release_buffer(wrapped); });
    release(graph, [&] { return sim.capture().destroy(graph); });
    for (Allocation* held : {&first, &second, &ordered}) {
      release(*held, [&] { return sim.memory().deallocate(held->address); });
    }
    release(mapped, [&] { return space.unmap(base, page); });
    release(physical, [&] { return space.release_pages(physical); });
    release(base, [&] { return space.release_reservation(base, page); });
  }

  template <typename Held, typename Free>
  void release(Held& held, Free&& free) {
    if (held == Held{}) return;
    must(free());
    held = Held{};
  }

  void clean() {
    if (stream && sim.capture().info(stream).status != device::CaptureStatus::none) {
      graph = sim.capture().end(stream);
    }
    try {
      sim.streams().wait_all();
    } catch (const DeviceError&) {  // NOLINT(bugprone-empty-catch): of work that a fault struck
    }
    give_back();
  }

  SimTest& sim;
  Allocation first, second, ordered;
  device::BufferId wrapped;
  device::Address base = 0;
  device::PagesId physical;
  bool mapped = false;
  StreamId stream;
  device::DeviceEventId event;
  device::GraphId graph;
};

MachineOptions two_devices() {
  return {.devices = {{}, {}}};
}

void expect_nothing_left(SimTest& sim) {
  EXPECT_EQ(sim.memory().info().free_bytes, sim.gpu().facts().total_bytes);
  EXPECT_EQ(sim.machine.pending(sim.a), 0u);
  EXPECT_EQ(sim.machine.pending(sim.b), 0u);
  EXPECT_TRUE(sim.machine.findings().empty());
}

TEST(SimFaults, the_workload_makes_every_kind_of_call) {
  SimTest sim(two_devices());
  Workload workload(sim);
  workload.run();
  expect_nothing_left(sim);
  const device::CallCounts counts = sim.gpu().counts();
  for (std::size_t i = 0; i < device::kCallCount; ++i) {
    EXPECT_GT(counts.made[i], 0u) << device::call_name(static_cast<Call>(i));
  }
}

enum class Outcome { nothing, out_of_memory, device_error, refused };

Outcome outcome_of(Workload& workload) {
  try {
    workload.run();
    return Outcome::nothing;
  } catch (const OutOfMemory&) {
    return Outcome::out_of_memory;
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("injected fault"), std::string::npos) << error.what();
    return Outcome::device_error;
  } catch (const Refused&) {
    return Outcome::refused;
  }
}

Outcome documented(Call call) {
  if (device::is_free_path(call)) return Outcome::refused;
  const bool obtains = call == Call::allocate || call == Call::allocate_ordered ||
                       call == Call::wrap || call == Call::reserve || call == Call::create_pages ||
                       call == Call::make_resident;
  return obtains ? Outcome::out_of_memory : Outcome::device_error;
}

TEST(SimFaults, the_nth_call_of_every_kind_fails_as_documented_and_leaves_nothing_behind) {
  std::array<std::uint64_t, device::kCallCount> made = {};
  {
    SimTest sim(two_devices());
    const device::CallCounts before = sim.gpu().counts();
    Workload workload(sim);
    workload.run();
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = sim.gpu().counts().made[i] - before.made[i];
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Call call = static_cast<Call>(i);
    for (std::uint64_t nth = 1; nth <= made[i]; ++nth) {
      SCOPED_TRACE(testing::Message() << device::call_name(call) << " " << nth);
      SimTest sim(two_devices());
      sim.machine.add_fault({.call = call, .nth = nth});
      Workload workload(sim);
      EXPECT_EQ(outcome_of(workload), documented(call));
      EXPECT_EQ(sim.gpu().counts().refused_frees, device::is_free_path(call) ? 1u : 0u);
      sim.machine.clear_faults();
      workload.clean();
      sim.machine.clear_findings();
      expect_nothing_left(sim);
      Workload again(sim);
      EXPECT_EQ(outcome_of(again), Outcome::nothing);
      expect_nothing_left(sim);
    }
  }
}

TEST(SimFaults, a_fault_strikes_once_or_from_then_on) {
  SimTest sim;
  sim.machine.add_fault({.call = Call::allocate, .nth = 2});
  (void)sim.memory().allocate(1);
  EXPECT_THROW((void)sim.memory().allocate(1), OutOfMemory);
  (void)sim.memory().allocate(1);
  sim.machine.add_fault({.call = Call::allocate, .nth = 2, .repeat = FaultRepeat::from_then_on});
  (void)sim.memory().allocate(1);
  for (int i = 0; i < 3; ++i) EXPECT_THROW((void)sim.memory().allocate(1), OutOfMemory);
  sim.machine.clear_faults();
  (void)sim.memory().allocate(1);
  EXPECT_THROW(sim.machine.add_fault({.nth = 0}), InvalidArgument);
}

TEST(SimFaults, the_error_of_a_fault_can_be_chosen_and_is_one_devices_own) {
  SimTest sim(two_devices());
  sim.machine.add_fault({.call = Call::allocate, .error = FaultError::device_error});
  sim.machine.add_fault({.call = Call::copy, .error = FaultError::out_of_memory}, {1});
  EXPECT_THROW((void)sim.memory().allocate(1), DeviceError);
  device::Streams& other = sim.machine.device({1}).streams();
  EXPECT_NO_THROW(sim.streams().copy(sim.a, {}, {}));
  EXPECT_THROW(other.copy(other.default_stream(), {}, {}), OutOfMemory);
}

}  // namespace
}  // namespace strandline::sim
