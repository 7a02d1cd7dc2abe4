// SPDX-License-Identifier: Apache-2.0
// What whole-buffer allocators do beyond the contract: rounding, the heap for the smallest, reuse
// of larger buffers, residency.
#include "alloc/contract/contract.h"
#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/unified_allocator.h"

namespace strandline::alloc {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMiB = 1 << 20;

class BufferPools : public AllocatorContract {};
std::vector<Subject> pools() {
  std::vector<Subject> subjects = all_subjects();
  std::erase_if(subjects, [](const Subject& one) { return one.grain != Grain::buffers; });
  return subjects;
}
INSTANTIATE_TEST_SUITE_P(All, BufferPools, testing::ValuesIn(pools()), subject_name);

TEST_P(BufferPools, up_to_256_bytes_come_from_the_heap_and_more_from_the_device) {
  const Buffer a = allocator().malloc(255);
  const Buffer b = allocator().malloc(256);
  EXPECT_EQ(allocator().size(a), 256u);
  EXPECT_EQ(allocator().size(b), 256u);
  EXPECT_EQ(allocator().slice(a).buffer, allocator().slice(b).buffer) << "one heap";
  EXPECT_EQ(now().reserved_bytes, kMiB);
  EXPECT_EQ(now().buffer_count, 1u);
  EXPECT_EQ(now().spare_bytes, kMiB - 512);
  const Buffer c = allocator().malloc(257);
  EXPECT_EQ(allocator().size(c), kPage);
  EXPECT_NE(allocator().slice(c).buffer, allocator().slice(a).buffer);
  EXPECT_EQ(now().reserved_bytes, kMiB + kPage);
  std::vector<Buffer> all = {a, b, c};
  free_all(all);
}

TEST_P(BufferPools, larger_sizes_are_rounded_to_pages) {
  std::vector<Buffer> buffers;
  for (const std::uint64_t bytes :
       {257ull, 4095ull, 4096ull, 4097ull, 8192ull, 8193ull, 65537ull}) {
    buffers.push_back(allocator().malloc(bytes));
    EXPECT_EQ(allocator().size(buffers.back()), (bytes + kPage - 1) / kPage * kPage);
  }
  free_all(buffers);
}

TEST_P(BufferPools, a_heap_that_is_full_is_followed_by_another) {
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 0; i < kMiB / 256 + 1; ++i) buffers.push_back(allocator().malloc(8));
  EXPECT_EQ(now().reserved_bytes, 2 * kMiB);
  EXPECT_EQ(now().device_mallocs, 2u);
  free_all(buffers);
  EXPECT_EQ(allocator().empty_cache(), 2 * kMiB);
}

TEST_P(BufferPools, the_state_of_a_heap_is_its_allocated_slots_and_what_is_free_between) {
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 0; i < 6; ++i) buffers.push_back(allocator().malloc(100 + i));
  for (const std::size_t i : {1u, 2u, 5u}) allocator().free(buffers[i]);
  const std::vector<record::SegmentState> segments = allocator().segments();
  ASSERT_EQ(segments.size(), 1u);
  const record::SegmentState& heap = segments[0];
  EXPECT_TRUE(heap.is_small);
  const auto block = [&](std::uint64_t slot, std::uint64_t slots, std::uint64_t requested) {
    return record::BlockState{
        .address = heap.address + slot * 256,
        .size = slots * 256,
        .requested = requested,
        .use = requested == 0 ? record::BlockUse::inactive : record::BlockUse::allocated};
  };
  EXPECT_EQ(heap.blocks,
            (std::vector<record::BlockState>{block(0, 1, 100), block(1, 2, 0), block(3, 1, 103),
                                             block(4, 1, 104), block(5, kMiB / 256 - 5, 0)}));
  std::vector<Buffer> left = {buffers[0], buffers[3], buffers[4]};
  free_all(left);
  ASSERT_EQ(allocator().segments().size(), 1u);
  EXPECT_EQ(allocator().segments()[0].blocks,
            (std::vector<record::BlockState>{block(0, kMiB / 256, 0)}));
}

TEST_P(BufferPools, a_buffer_of_less_than_twice_the_size_is_reused_and_keeps_its_own) {
  allocator().free(allocator().malloc(8 * kPage));
  const Buffer close = allocator().malloc(7 * kPage);
  EXPECT_EQ(allocator().size(close), 8 * kPage);
  EXPECT_EQ(now().active_bytes, 8 * kPage);
  EXPECT_EQ(now().requested_bytes, 7 * kPage);
  allocator().free(close);
  const Buffer far = allocator().malloc(6 * kPage);  // 8 is not below 6 and two pages
  EXPECT_EQ(allocator().size(far), 6 * kPage);
  const Buffer half = allocator().malloc(4 * kPage);  // 8 is not below twice 4
  EXPECT_EQ(allocator().size(half), 4 * kPage);
  allocator().free(far);
  allocator().free(half);
}

TEST_P(BufferPools, a_larger_page_can_be_chosen_and_a_wrong_one_is_an_error) {
  const HostAllocatorOptions large{.page_bytes = 16384};
  HostAllocator other(device(), large);
  const Buffer buffer = other.malloc(5000);
  EXPECT_EQ(other.size(buffer), 16384u);
  other.free(buffer);
  for (const std::uint64_t page : {std::uint64_t{3000}, std::uint64_t{12288}, std::uint64_t{2}}) {
    const auto make = [&] { HostAllocator broken(device(), {.page_bytes = page}); };
    EXPECT_THAT(message_of<InvalidArgument>(make), testing::HasSubstr(std::to_string(page)));
  }
}

TEST_P(BufferPools, start_with_the_limits_that_are_documented) {
  const std::uint64_t total = facts().total_bytes;
  const Limits limits = allocator().limits();
  const bool is_unified = allocator().name() == "UnifiedAllocator";
  if (!is_unified) {
    EXPECT_EQ(limits.memory.bytes, total / 100 * 80 + total % 100 * 80 / 100);
    EXPECT_EQ(limits.gc_bytes, limits.memory.bytes);
    EXPECT_EQ(limits.cache_bytes, total / 8);
  } else {
    EXPECT_LE(limits.memory.bytes, total / 100 * 95 + 95);
    EXPECT_EQ(limits.cache_bytes, limits.memory.bytes);
    EXPECT_LE(limits.gc_bytes, limits.memory.bytes);
    allocator().set_memory_limit(1000);
    EXPECT_EQ(allocator().limits().gc_bytes, 1000u);
    EXPECT_EQ(allocator().limits().cache_bytes, limits.cache_bytes) << "does not follow";
  }
  EXPECT_EQ(limits.wired_bytes, 0u);
  EXPECT_EQ(limits.buffers, facts().max_buffers == 0 ? 499'000 : facts().max_buffers);
}

class Residency : public testing::Test {
 protected:
  Residency() {
    sim::MachineOptions options;
    options.devices[0].working_set_bytes = 16 * kMiB;
    machine_ = std::make_unique<sim::Machine>(options);
    allocator_ = std::make_unique<UnifiedAllocator>(machine_->device());
  }
  ~Residency() override { EXPECT_NO_THROW(allocator_->validate()); }

  std::uint64_t wired() { return allocator_->statistics().wired_bytes; }
  std::uint64_t calls(device::Call call) { return machine_->device().counts().of(call); }

  std::unique_ptr<sim::Machine> machine_;
  std::unique_ptr<UnifiedAllocator> allocator_;
};

TEST_F(Residency, nothing_is_wired_until_a_limit_allows_it) {
  const Buffer small = allocator_->malloc(8);
  const Buffer large = allocator_->malloc(kMiB);
  EXPECT_EQ(wired(), 0u);
  EXPECT_EQ(calls(device::Call::make_resident), 0u);
  EXPECT_EQ(allocator_->set_wired_limit(2 * kMiB), 0u);
  EXPECT_EQ(wired(), 2 * kMiB) << "exactly full: the heap and the buffer";
  EXPECT_EQ(calls(device::Call::make_resident), 2u);
  const Buffer more = allocator_->malloc(kMiB);
  EXPECT_EQ(wired(), 2 * kMiB);
  allocator_->free(large);
  EXPECT_EQ(wired(), 2 * kMiB) << "cached buffers stay wired";
  EXPECT_EQ(allocator_->set_wired_limit(kMiB), 2 * kMiB);
  EXPECT_EQ(wired(), kMiB);
  EXPECT_EQ(calls(device::Call::end_residency), 1u);
  EXPECT_EQ(allocator_->set_wired_limit(16 * kMiB), kMiB);
  EXPECT_EQ(wired(), 3 * kMiB) << "what waited is wired when the limit rises";
  allocator_->set_cache_limit(0);
  EXPECT_EQ(wired(), 2 * kMiB) << "what leaves the cache is unwired";
  allocator_->free(more);
  EXPECT_EQ(wired(), kMiB);
  allocator_->free(small);
}

TEST_F(Residency, what_the_device_refuses_to_wire_waits) {
  allocator_->set_wired_limit(8 * kMiB);
  machine_->add_fault({.call = device::Call::make_resident});
  const Buffer refused = allocator_->malloc(kMiB);
  EXPECT_TRUE(refused);
  EXPECT_EQ(wired(), 0u);
  const Buffer wired_one = allocator_->malloc(kMiB);
  EXPECT_EQ(wired(), kMiB);
  allocator_->set_wired_limit(9 * kMiB);
  EXPECT_EQ(wired(), 2 * kMiB);
  allocator_->free(refused);
  allocator_->free(wired_one);
}

TEST_F(Residency, the_host_allocator_wires_nothing) {
  HostAllocator host(machine_->device());
  EXPECT_EQ(host.set_wired_limit(kMiB), 0u);
  EXPECT_EQ(host.set_wired_limit(0), 0u);
  const Buffer buffer = host.malloc(5000);
  EXPECT_EQ(host.statistics().wired_bytes, 0u);
  host.free(buffer);
}

}  // namespace
}  // namespace strandline::alloc
