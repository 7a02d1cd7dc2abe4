// SPDX-License-Identifier: Apache-2.0
// The simulation's memory: committed when touched, poisoned and closed when freed, addresses used
// again at once or never, and unsound accesses of declared work found.
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/sim_support.h"

namespace strandline::sim {
namespace {

using device::Allocation;
using device::FreeStatus;

std::uint64_t resident_bytes() {
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(SimMemory, a_device_of_80_gb_costs_what_is_touched) {
  SimTest sim;
  const std::uint64_t before = resident_bytes();
  const Allocation most = sim.memory().allocate(79'000'000'000);
  EXPECT_EQ(sim.memory().info().free_bytes / 1'000'000'000, 0u);
  sim.bytes(most)[40'000'000'000] = 1;
  EXPECT_THROW((void)sim.memory().allocate(2'000'000'000), OutOfMemory);
  EXPECT_EQ(sim.memory().deallocate(most.address), FreeStatus::freed);
  EXPECT_EQ(sim.memory().info().free_bytes, sim.gpu().facts().total_bytes);
  EXPECT_LT(resident_bytes() - before, std::uint64_t{300} << 20);
  EXPECT_EQ(sim.machine.poisoned_bytes(), 4096u) << "the one page that was touched";
}

TEST(SimMemory, what_an_allocation_costs_is_a_multiple_of_the_granularity) {
  SimTest sim({.devices = {{.capacity_bytes = 4 << 20, .allocation_granularity = 2 << 20}}});
  const Allocation first = sim.memory().allocate(1);
  const Allocation second = sim.memory().allocate(1);
  EXPECT_EQ(sim.memory().info().free_bytes, 0u);
  EXPECT_THROW((void)sim.memory().allocate(1), OutOfMemory);
  sim.memory().deallocate(first.address);
  EXPECT_EQ(sim.memory().info().free_bytes, std::uint64_t{2} << 20);
  sim.memory().deallocate(second.address);
}

TEST(SimMemory, freed_memory_is_poison_where_it_was_touched) {
  SimTest sim;
  const Allocation held = sim.memory().allocate(3 * 4096);
  sim.bytes(held)[4096] = 42;
  sim.memory().deallocate(held.address);
  EXPECT_EQ(sim.bytes(held)[4096], 0xDB);
  EXPECT_EQ(sim.bytes(held)[8191], 0xDB);
}

using SimMemoryDeathTest = testing::Test;

TEST(SimMemoryDeathTest, freed_memory_that_was_never_touched_cannot_be_read) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        SimTest sim;
        const Allocation held = sim.memory().allocate(4096);
        sim.memory().deallocate(held.address);
        const volatile std::uint8_t value = sim.bytes(held)[0];
        (void)value;
      },
      "");
}

TEST(SimMemory, poison_is_kept_up_to_a_limit) {
  SimTest sim({.reuse = AddressReuse::never, .poisoned_bytes_kept = 8 * 4096});
  for (int i = 0; i < 20; ++i) {
    const Allocation held = sim.memory().allocate(4096);
    sim.bytes(held)[0] = 1;
    sim.memory().deallocate(held.address);
  }
  EXPECT_EQ(sim.machine.poisoned_bytes(), 8u * 4096);
}

TEST(SimMemory, an_address_is_used_again_at_once_or_never) {
  for (const AddressReuse reuse : {AddressReuse::at_once, AddressReuse::never}) {
    SimTest sim({.reuse = reuse});
    const Allocation other = sim.memory().allocate(8192);
    const Allocation held = sim.memory().allocate(8192);
    sim.memory().deallocate(other.address);
    sim.memory().deallocate(held.address);
    EXPECT_EQ(sim.memory().allocate(4096).address == held.address, reuse == AddressReuse::at_once);
  }
}

TEST(SimMemory, the_same_calls_give_the_same_addresses_and_findings) {
  const auto run = [] {
    SimTest sim({.interleaving = Interleaving::seeded, .seed = 99});
    std::vector<std::uint64_t> seen;
    std::mt19937 random(7);
    std::vector<Allocation> held;
    for (int i = 0; i < 300; ++i) {
      if (held.size() > 5 && random() % 2 == 0) {
        sim.memory().deallocate(held[random() % held.size()].address);
      } else {
        held.push_back(sim.memory().allocate(random() % 100'000 + 1));
        seen.push_back(held.back().address - sim.machine.base());
        sim.streams().copy(i % 2 == 0 ? sim.a : sim.b, {held.back().address, 1, {}},
                           {held.front().address, 1, {}});
      }
    }
    for (const StreamId stream : {sim.a, sim.b}) {
      try {
        sim.streams().wait(stream);
        seen.push_back(0);
      } catch (const DeviceError&) {  // a copy out of freed memory that nobody had touched
        seen.push_back(1);
      }
    }
    for (const Finding& finding : sim.machine.findings()) {
      seen.push_back(static_cast<std::uint64_t>(finding.kind));
      seen.push_back(finding.address - sim.machine.base());
    }
    return seen;
  };
  const std::vector<std::uint64_t> first = run();
  EXPECT_GT(first.size(), 200u);
  EXPECT_EQ(run(), first);
}

TEST(SimMemory, a_read_of_freed_memory_is_found_and_reads_poison) {
  SimTest sim;
  const Allocation source = sim.filled(4096, 7);
  const Allocation target = sim.allocate(4096);
  sim.memory().deallocate(source.address);
  sim.streams().copy(sim.a, target.slice(), {source.address, 4096, {}});
  sim.streams().wait(sim.a);
  ASSERT_EQ(sim.machine.findings().size(), 1u);
  const Finding found = sim.machine.findings().front();
  EXPECT_EQ(found.kind, FindingKind::read_of_freed);
  EXPECT_EQ(found.operation, "copy");
  EXPECT_EQ(found.address, source.address);
  EXPECT_EQ(found.size, 4096u);
  EXPECT_EQ(sim.bytes(target)[0], 0xDB);
}

TEST(SimMemory, memory_freed_under_work_that_goes_by_address_is_found) {
  SimTest sim;
  const Allocation source = sim.filled(4096, 7);
  const Allocation target = sim.allocate(4096);
  sim.streams().copy(sim.a, target.slice(), {source.address, 4096, {}});
  sim.memory().deallocate(source.address);
  sim.streams().wait(sim.a);
  EXPECT_EQ(sim.kinds(), std::vector<FindingKind>{FindingKind::read_of_freed});
}

TEST(SimMemory, work_keeps_the_buffer_it_binds_but_a_wrapped_one_keeps_no_memory) {
  SimTest sim;
  const Allocation source = sim.filled(4096, 7);
  const Allocation target = sim.allocate(4096);
  sim.streams().copy(sim.a, target.slice(), source.slice());
  sim.memory().deallocate(source.address);
  EXPECT_EQ(sim.memory().info().free_bytes, sim.gpu().facts().total_bytes - 2 * 4096);
  EXPECT_NE(sim.memory().allocate(4096).address, source.address) << "it is not free yet";
  sim.streams().wait(sim.a);
  EXPECT_TRUE(sim.kinds().empty());
  EXPECT_EQ(sim.bytes(target)[0], 7);

  const Allocation under = sim.filled(4096, 9);
  const device::BufferId wrapped = sim.memory().wrap(under.address, 4096);
  sim.streams().copy(sim.a, target.slice(), {under.address, 4096, wrapped});
  sim.memory().release_buffer(wrapped);
  sim.memory().deallocate(under.address);
  sim.streams().wait(sim.a);
  EXPECT_EQ(sim.kinds(), std::vector<FindingKind>{FindingKind::read_of_freed});
  EXPECT_EQ(sim.bytes(target)[0], 0xDB);
}

TEST(SimMemory, deallocation_that_waits_lets_queued_work_finish_first) {
  SimTest sim({.deallocation = Deallocation::waits_for_device});
  const Allocation source = sim.filled(4096, 7);
  const Allocation target = sim.allocate(4096);
  sim.streams().copy(sim.a, target.slice(), {source.address, 4096, {}});
  sim.memory().deallocate(source.address);
  EXPECT_EQ(sim.machine.pending(sim.a), 0u);
  EXPECT_TRUE(sim.kinds().empty());
  EXPECT_EQ(sim.bytes(target)[0], 7);
}

TEST(SimMemory, a_read_of_bytes_that_nothing_wrote_is_found_once_they_are_written_it_is_not) {
  SimTest sim;
  const Allocation source = sim.allocate(4096);
  const Allocation target = sim.allocate(4096);
  sim.streams().fill(sim.a, source.slice(0, 1000), std::byte{1});
  sim.streams().copy(sim.a, target.slice(), source.slice());
  sim.streams().wait(sim.a);
  ASSERT_EQ(sim.kinds(), std::vector<FindingKind>{FindingKind::read_of_unwritten});
  EXPECT_EQ(sim.machine.findings().front().address, source.address + 1000);
  EXPECT_EQ(sim.machine.findings().front().size, 3096u);
  sim.machine.clear_findings();
  sim.memory().note_host_write(source.slice(1000, 3096));
  sim.streams().copy(sim.a, target.slice(), source.slice());
  sim.streams().wait(sim.a);
  EXPECT_TRUE(sim.kinds().empty());
}

TEST(SimMemory, what_was_written_before_an_address_was_used_again_does_not_count) {
  SimTest sim;
  const Allocation first = sim.filled(4096, 1);
  sim.memory().deallocate(first.address);
  const Allocation again = sim.allocate(4096);
  ASSERT_EQ(again.address, first.address);
  const Allocation target = sim.allocate(4096);
  sim.streams().copy(sim.a, target.slice(), again.slice());
  sim.streams().wait(sim.a);
  EXPECT_EQ(sim.kinds(), std::vector<FindingKind>{FindingKind::read_of_unwritten});
  EXPECT_EQ(sim.bytes(target)[0], 0xDB) << "the poison of before";
}

TEST(SimMemory, unmapped_pages_and_pages_of_others_cannot_be_reached) {
  SimTest sim({.devices = {{}, {}}});
  const std::uint64_t page = sim.gpu().facts().page_bytes;
  device::AddressSpace& space = sim.gpu().address_space();
  const device::Address base = space.reserve(2 * page);
  const device::PagesId pages = space.create_pages(page);
  const auto try_fill = [&](std::uint64_t size) {
    sim.machine.clear_findings();
    sim.streams().fill(sim.a, {base, size, {}}, std::byte{1});
    bool failed = false;
    try {
      sim.streams().wait(sim.a);
    } catch (const DeviceError&) {
      failed = true;
    }
    EXPECT_EQ(failed, !sim.kinds().empty());
    return !failed;
  };
  EXPECT_FALSE(try_fill(16)) << "nothing is mapped";
  space.map(base, pages);
  EXPECT_FALSE(try_fill(16)) << "no access";
  const std::vector<device::DeviceIndex> other = {{1}};
  space.set_access(base, page, other);
  EXPECT_FALSE(try_fill(16)) << "access of the other device only";
  const std::vector<device::DeviceIndex> both = {{0}, {1}};
  space.set_access(base, page, both);
  EXPECT_TRUE(try_fill(16));
  EXPECT_FALSE(try_fill(page + 1)) << "past the mapping";
  space.unmap(base, page);
  EXPECT_FALSE(try_fill(16)) << "unmapped again";
  space.release_pages(pages);
  EXPECT_EQ(space.release_reservation(base, 2 * page), FreeStatus::freed);
  EXPECT_EQ(sim.memory().info().free_bytes, sim.gpu().facts().total_bytes);
}

TEST(SimMemory, peers_must_be_enabled_before_work_reaches_across) {
  SimTest sim({.devices = {{}, {}}});
  device::Device& second = sim.machine.device({1});
  const Allocation theirs = second.memory().allocate(4096);
  const auto fill = [&] {
    sim.streams().fill(sim.a, theirs.slice(), std::byte{1});
    sim.streams().wait(sim.a);
  };
  EXPECT_THROW(fill(), DeviceError);
  EXPECT_EQ(sim.kinds(), std::vector<FindingKind>{FindingKind::no_access});
  EXPECT_FALSE(sim.gpu().peers().can_access({0}));
  EXPECT_FALSE(sim.gpu().peers().can_access({2}));
  EXPECT_THROW(sim.gpu().peers().enable({2}), InvalidArgument);
  EXPECT_TRUE(sim.gpu().peers().can_access({1}));
  sim.gpu().peers().enable({1});
  EXPECT_NO_THROW(fill());
  EXPECT_EQ(sim.gpu().peers().disable({1}), FreeStatus::freed);
  EXPECT_THROW(fill(), DeviceError);
  EXPECT_EQ(second.memory().info().free_bytes, second.facts().total_bytes - 4096)
      << "each device has its own bytes";
  EXPECT_EQ(sim.memory().deallocate(theirs.address), FreeStatus::unknown) << "of another device";
}

TEST(SimMemory, limits_of_pinned_resident_and_buffer_objects_hold) {
  SimTest sim(
      {.devices = {{.max_buffers = 3, .max_pinned_bytes = 8192, .working_set_bytes = 8192}}});
  device::Memory& memory = sim.memory();
  const Allocation pinned = memory.allocate(8192, {.placement = device::Placement::pinned_host});
  EXPECT_THROW((void)memory.allocate(1, {.placement = device::Placement::pinned_host}),
               OutOfMemory);
  const Allocation large = memory.allocate(12288);
  EXPECT_THROW(memory.make_resident(large.address), OutOfMemory);
  const Allocation small = memory.allocate(8192);
  memory.make_resident(small.address);
  EXPECT_THROW((void)memory.allocate(1), OutOfMemory) << "three buffer objects live";
  EXPECT_THROW((void)memory.wrap(small.address, 16), OutOfMemory);
  memory.deallocate(large.address);
  EXPECT_THROW((void)memory.wrap(small.address + 16384 + 1, 4096), InvalidArgument);
  const device::BufferId inside = memory.wrap(small.address + 16, 16);
  memory.release_buffer(inside);
  memory.deallocate(small.address);
  const Allocation again = memory.allocate(8192);
  EXPECT_NO_THROW(memory.make_resident(again.address)) << "freed memory is not resident";
  memory.deallocate(pinned.address);
}

}  // namespace
}  // namespace strandline::sim
