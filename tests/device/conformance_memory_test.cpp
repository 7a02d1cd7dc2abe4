// SPDX-License-Identifier: Apache-2.0
// Conformance: allocations, wrapped buffers, address space.
#include <algorithm>

#include "device/conformance.h"

namespace strandline::device {
namespace {

class MemoryConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, MemoryConformance, testing::ValuesIn(all_backends()),
                         backend_name);

TEST_P(MemoryConformance, allocations_do_not_overlap_and_hold_what_is_written) {
  constexpr std::uint64_t kSize = 5000;
  std::vector<Allocation> held;
  for (std::uint8_t i = 1; i <= 20; ++i) {
    held.push_back(memory().allocate(kSize));
    streams().fill(streams().default_stream(), held.back().slice(), std::byte{i});
  }
  for (std::uint8_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(read(held[i - 1u].slice()), repeated(i, kSize));
  }
  std::sort(held.begin(), held.end(),
            [](const Allocation& a, const Allocation& b) { return a.address < b.address; });
  for (std::size_t i = 1; i < held.size(); ++i) {
    EXPECT_GE(held[i].address, held[i - 1].address + held[i - 1].size);
  }
  for (const Allocation& one : held) {
    EXPECT_LT(one.address, std::uint64_t{1} << 47);
    EXPECT_EQ(memory().deallocate(one.address), FreeStatus::freed);
  }
}

TEST_P(MemoryConformance, alignment_is_the_devices_own_or_the_one_asked_for) {
  std::vector<Address> held;
  held.push_back(memory().allocate(1).address);
  EXPECT_EQ(held.back() % facts().allocation_alignment, 0u);
  const std::uint64_t largest = std::min(facts().max_alignment, std::uint64_t{1} << 22);
  for (std::uint64_t alignment = 1; alignment <= largest; alignment *= 2) {
    held.push_back(memory().allocate(100, {.alignment = alignment}).address);
    EXPECT_EQ(held.back() % alignment, 0u) << alignment;
  }
  for (const Address address : held) EXPECT_EQ(memory().deallocate(address), FreeStatus::freed);
}

TEST_P(MemoryConformance, bad_arguments_are_named_and_take_nothing) {
  const std::uint64_t before = device().counts().of(Call::allocate);
  EXPECT_NE(message_of<InvalidArgument>([&] { (void)memory().allocate(0); }).find("0 bytes"),
            std::string::npos);
  const std::string text =
      message_of<InvalidArgument>([&] { (void)memory().allocate(8, {.alignment = 3}); });
  EXPECT_NE(text.find("got 3, expected a power of two"), std::string::npos) << text;
  EXPECT_THROW((void)memory().allocate(8, {.alignment = facts().max_alignment * 2}),
               InvalidArgument);
  EXPECT_EQ(device().counts().of(Call::allocate), before);
}

TEST_P(MemoryConformance, sizes_past_the_device_are_out_of_memory_with_the_numbers) {
  for (const std::uint64_t bytes :
       {facts().max_allocation_bytes + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    try {
      (void)memory().allocate(bytes);
      ADD_FAILURE() << bytes;
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.requested, bytes);
      EXPECT_EQ(error.limit, facts().total_bytes);
    }
  }
}

TEST_P(MemoryConformance, unknown_addresses_are_refused_counted_and_harmless) {
  const Allocation held = memory().allocate(4096);
  EXPECT_EQ(memory().deallocate(held.address + 8), FreeStatus::unknown);
  int local = 0;
  EXPECT_EQ(memory().deallocate(reinterpret_cast<Address>(&local)), FreeStatus::unknown);
  EXPECT_EQ(memory().deallocate(0), FreeStatus::freed);
  EXPECT_EQ(device().counts().refused_frees, 2u);
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::freed);
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::unknown);
}

TEST_P(MemoryConformance, every_placement_that_is_supported_can_be_written_and_read) {
  for (const Placement placement :
       {Placement::device, Placement::managed, Placement::pinned_host, Placement::host}) {
    if (!facts().has(placement)) continue;
    const Allocation held = memory().allocate(4096, {.placement = placement});
    streams().fill(streams().default_stream(), held.slice(), std::byte{7});
    EXPECT_EQ(read(held.slice()), repeated(7, 4096)) << placement_name(placement);
    EXPECT_EQ(memory().deallocate(held.address), FreeStatus::freed);
  }
}

TEST_P(MemoryConformance, a_wrapped_buffer_reaches_the_bytes_below_it) {
  if (!facts().supports.no_copy_buffers) GTEST_SKIP() << "no no-copy buffers";
  const Allocation held = memory().allocate(16384);
  const StreamId stream = streams().create();
  streams().fill(stream, held.slice(), std::byte{1});
  streams().wait(stream);
  const BufferId buffer = memory().wrap(held.address, 8192);
  streams().fill(stream, {held.address + 4096, 4096, buffer}, std::byte{2});
  EXPECT_EQ(read(held.slice(0, 4096)), repeated(1, 4096));
  EXPECT_EQ(read(held.slice(4096, 4096)), repeated(2, 4096));
  const std::string text = message_of<InvalidArgument>([&] {
    streams().fill(stream, {held.address + 4096, 8192, buffer}, std::byte{3});
  });
  EXPECT_NE(text.find("bytes of the buffer"), std::string::npos) << text;
  EXPECT_EQ(memory().release_buffer(held.buffer), FreeStatus::unknown) << "it ends with its memory";
  EXPECT_EQ(memory().release_buffer(buffer), FreeStatus::freed);
  EXPECT_EQ(memory().release_buffer(buffer), FreeStatus::unknown);
  EXPECT_THROW(streams().fill(stream, {held.address, 1, buffer}, std::byte{3}), InvalidArgument);
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::freed);
}

TEST_P(MemoryConformance, queued_work_keeps_the_buffers_it_binds) {
  if (!facts().supports.bound_work_keeps_memory) GTEST_SKIP() << "work keeps nothing";
  const Allocation source = memory().allocate(4096);
  const Allocation target = memory().allocate(4096);
  const StreamId stream = streams().create();
  streams().fill(stream, source.slice(), std::byte{9});
  streams().copy(stream, target.slice(), source.slice());
  EXPECT_EQ(memory().deallocate(source.address), FreeStatus::freed);
  EXPECT_EQ(read(target.slice()), repeated(9, 4096));
  EXPECT_EQ(memory().deallocate(target.address), FreeStatus::freed);
}

TEST_P(MemoryConformance, residency_may_be_asked_for_twice_and_ended_early) {
  if (!facts().supports.residency) GTEST_SKIP() << "no residency";
  const Allocation held = memory().allocate(4096);
  memory().make_resident(held.address);
  memory().make_resident(held.address);
  EXPECT_EQ(memory().end_residency(held.address), FreeStatus::freed);
  EXPECT_THROW(memory().make_resident(held.address + 64), InvalidArgument);
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::freed);
  EXPECT_EQ(memory().end_residency(held.address), FreeStatus::unknown);
}

TEST_P(MemoryConformance, ordered_allocations_are_freed_behind_the_work_of_their_stream) {
  if (!facts().supports.ordered_allocation) GTEST_SKIP() << "no stream-ordered memory";
  const StreamId stream = streams().create();
  const Allocation held = memory().allocate_ordered(4096, stream);
  const Allocation target = memory().allocate(4096);
  streams().fill(stream, held.slice(), std::byte{4});
  streams().copy(stream, {target.address, 4096, {}}, {held.address, 4096, {}});
  EXPECT_EQ(memory().deallocate_ordered(held.address, stream), FreeStatus::freed);
  EXPECT_EQ(read(target.slice()), repeated(4, 4096));
  EXPECT_EQ(memory().deallocate(held.address), FreeStatus::unknown) << "it was freed in order";
  EXPECT_EQ(memory().deallocate(target.address), FreeStatus::freed);
}

class AddressSpaceConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    if (!facts().supports.address_space) GTEST_SKIP() << "no address space";
  }
  std::uint64_t page() { return facts().page_bytes; }
  std::vector<DeviceIndex> self() { return {facts().index}; }
};
INSTANTIATE_TEST_SUITE_P(Backends, AddressSpaceConformance, testing::ValuesIn(all_backends()),
                         backend_name);

TEST_P(AddressSpaceConformance, pages_mapped_into_a_reservation_are_memory) {
  const Address base = space().reserve(8 * page());
  const PagesId first = space().create_pages(page());
  const PagesId second = space().create_pages(2 * page());
  space().map(base + page(), first);
  space().map(base + 2 * page(), second);
  space().set_access(base + page(), 3 * page(), self());
  streams().fill(streams().default_stream(), {base + page(), 3 * page(), {}}, std::byte{5});
  EXPECT_EQ(read({base + 2 * page() - 8, 16, {}}), repeated(5, 16)) << "across the seam";
  EXPECT_EQ(space().release_pages(first), FreeStatus::freed);
  EXPECT_EQ(read({base + page(), 16, {}}), repeated(5, 16)) << "mapped pages outlive their handle";
  EXPECT_EQ(space().release_reservation(base, 8 * page()), FreeStatus::refused);
  EXPECT_EQ(space().unmap(base + page(), 2 * page()), FreeStatus::refused) << "half of a mapping";
  EXPECT_EQ(space().unmap(base + page(), 3 * page()), FreeStatus::freed);
  EXPECT_EQ(space().unmap(base + page(), page()), FreeStatus::refused) << "nothing is mapped";
  EXPECT_EQ(space().release_pages(second), FreeStatus::freed);
  EXPECT_EQ(space().release_pages(second), FreeStatus::unknown);
  EXPECT_EQ(space().release_reservation(base, page()), FreeStatus::refused) << "not all of it";
  EXPECT_EQ(space().release_reservation(base, 8 * page()), FreeStatus::freed);
}

TEST_P(AddressSpaceConformance, ranges_that_do_not_fit_are_invalid) {
  const Address base = space().reserve(4 * page());
  const PagesId pages = space().create_pages(2 * page());
  EXPECT_THROW((void)space().reserve(0), InvalidArgument);
  EXPECT_THROW((void)space().reserve(page() + 1), InvalidArgument);
  EXPECT_THROW((void)space().reserve(std::uint64_t{1} << 63), OutOfMemory);
  EXPECT_THROW((void)space().create_pages(page() / 2), InvalidArgument);
  EXPECT_THROW((void)space().create_pages(std::uint64_t{1} << 63), OutOfMemory);
  EXPECT_THROW(space().map(base + 3 * page(), pages), InvalidArgument) << "past the end";
  EXPECT_THROW(space().map(base + 1, pages), InvalidArgument);
  EXPECT_THROW(space().map(base, PagesId{99999}), InvalidArgument);
  space().map(base, pages);
  EXPECT_THROW(space().set_access(base, page(), self()), InvalidArgument) << "half of a mapping";
  const PagesId more = space().create_pages(page());
  EXPECT_THROW(space().map(base + page(), more), InvalidArgument) << "mapped already";
  if (!facts().supports.pages_alias) {
    EXPECT_THROW(space().map(base + 2 * page(), pages), InvalidArgument);
  }
  EXPECT_EQ(space().unmap(base, 2 * page()), FreeStatus::freed);
  EXPECT_EQ(space().release_pages(pages), FreeStatus::freed);
  EXPECT_EQ(space().release_pages(more), FreeStatus::freed);
  EXPECT_EQ(space().release_reservation(base, 4 * page()), FreeStatus::freed);
}

TEST_P(AddressSpaceConformance, pages_keep_their_contents_where_the_facts_say_so) {
  if (!facts().supports.pages_keep_contents) GTEST_SKIP() << "contents go with the mapping";
  const Address base = space().reserve(4 * page());
  const PagesId pages = space().create_pages(page());
  space().map(base, pages);
  space().set_access(base, page(), self());
  streams().fill(streams().default_stream(), {base, 64, {}}, std::byte{6});
  streams().wait_all();
  EXPECT_EQ(space().unmap(base, page()), FreeStatus::freed);
  space().map(base + page(), pages);
  space().set_access(base + page(), page(), self());
  EXPECT_EQ(read({base + page(), 64, {}}), repeated(6, 64));
  if (facts().supports.pages_alias) {
    space().map(base, pages);
    space().set_access(base, page(), self());
    streams().fill(streams().default_stream(), {base, 64, {}}, std::byte{8});
    EXPECT_EQ(read({base + page(), 64, {}}), repeated(8, 64));
    EXPECT_EQ(space().unmap(base, page()), FreeStatus::freed);
  }
  EXPECT_EQ(space().unmap(base + page(), page()), FreeStatus::freed);
  EXPECT_EQ(space().release_pages(pages), FreeStatus::freed);
  EXPECT_EQ(space().release_reservation(base, 4 * page()), FreeStatus::freed);
}

}  // namespace
}  // namespace strandline::device
