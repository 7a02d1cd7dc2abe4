// SPDX-License-Identifier: Apache-2.0
// The contract: statistics, peaks, limits, the cache, and what an allocator says it holds.
#include <algorithm>
#include <thread>

#include "alloc/contract/contract.h"

namespace strandline::alloc {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class AllocatorLimits : public AllocatorContract {
 protected:
  /// So many buffers of a MiB, freed: all are kept.
  void fill_cache(std::size_t count) {
    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < count; ++i) buffers.push_back(allocator().malloc(kMiB));
    free_all(buffers);
  }
};
INSTANTIATE_TEST_SUITE_P(Contract, AllocatorLimits, testing::ValuesIn(all_subjects()),
                         subject_name);

TEST_P(AllocatorLimits, statistics_follow_every_step) {
  EXPECT_EQ(now(), Statistics{});
  const Buffer a = allocator().malloc(3 * kMiB);
  const Buffer b = allocator().malloc(5000);
  Statistics s = now();
  const std::uint64_t active = allocator().size(a) + allocator().size(b);
  EXPECT_EQ(s.active_bytes, active);
  EXPECT_EQ(s.allocated_bytes, active);
  EXPECT_EQ(allocator().active_bytes(), active);
  EXPECT_EQ(s.requested_bytes, 3 * kMiB + 5000);
  EXPECT_EQ(s.allocated_count, 2u);
  EXPECT_GE(s.reserved_bytes, active);
  EXPECT_EQ(s.cached_bytes, s.reserved_bytes - active);
  EXPECT_EQ(s.mallocs, 2u);
  const std::uint64_t reserved = s.reserved_bytes;
  allocator().free(a);
  s = now();
  EXPECT_EQ(s.active_bytes, allocator().size(b));
  EXPECT_EQ(s.peak_active_bytes, active);
  EXPECT_EQ(s.reserved_bytes, reserved) << "kept";
  EXPECT_EQ(s.frees, 1u);
  allocator().free(b);
  EXPECT_EQ(now().requested_bytes, 0u);
}

TEST_P(AllocatorLimits, peaks_are_of_active_and_of_reserved_and_can_be_reset_either_way) {
  const Buffer big = allocator().malloc(4 * kMiB);
  const Buffer small = allocator().malloc(kMiB);
  allocator().free(big);
  EXPECT_EQ(now().peak_active_bytes, 5 * kMiB);
  allocator().reset_peaks();
  EXPECT_EQ(now().peak_active_bytes, kMiB);
  EXPECT_EQ(now().peak_reserved_bytes, now().reserved_bytes);
  allocator().reset_peaks(PeakReset::to_zero);
  EXPECT_EQ(now().peak_active_bytes, 0u);
  EXPECT_EQ(now().peak_reserved_bytes, 0u);
  const Buffer next = allocator().malloc(kMiB);
  EXPECT_EQ(now().peak_active_bytes, 2 * kMiB) << "of all that is active, from the next malloc on";
  allocator().free(next);
  allocator().free(small);
}

TEST_P(AllocatorLimits, setters_return_what_was_set_before) {
  const Limits start = allocator().limits();
  EXPECT_EQ(start.memory.rule, LimitRule::guideline);
  EXPECT_EQ(allocator().set_memory_limit(10, LimitRule::hard), start.memory);
  EXPECT_EQ(allocator().set_memory_limit(20), (MemoryLimit{10, LimitRule::hard}));
  EXPECT_EQ(allocator().set_memory_limit(start.memory.bytes),
            (MemoryLimit{20, LimitRule::guideline}));
  EXPECT_EQ(allocator().set_cache_limit(7), start.cache_bytes);
  EXPECT_EQ(allocator().set_cache_limit(start.cache_bytes), 7u);
  EXPECT_EQ(allocator().set_buffer_limit(3), start.buffers);
  EXPECT_EQ(allocator().set_buffer_limit(UINT64_MAX), 3u);
  EXPECT_EQ(allocator().set_buffer_limit(start.buffers), UINT64_MAX);
  EXPECT_EQ(allocator().limits(), start);
}

TEST_P(AllocatorLimits, a_cache_limit_trims_at_once_and_only_the_excess) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  fill_cache(8);
  ASSERT_EQ(now().cached_count, 8u);
  allocator().set_cache_limit(5 * kMiB);
  EXPECT_EQ(now().cached_count, 5u);
  allocator().set_cache_limit(5 * kMiB - 1);
  EXPECT_EQ(now().cached_count, 4u);
  fill_cache(8);
  EXPECT_EQ(now().cached_count, 4u) << "and holds later";
  allocator().set_cache_limit(0);
  EXPECT_EQ(now().cached_count, 0u);
  EXPECT_EQ(now().cached_bytes, now().spare_bytes);
  fill_cache(2);
  EXPECT_EQ(now().cached_count, 0u);
  EXPECT_EQ(now().active_bytes, 0u);
}

TEST_P(AllocatorLimits, a_buffer_larger_than_the_cache_limit_pushes_nothing_out) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  const Buffer large = allocator().malloc(4 * kMiB);
  fill_cache(2);
  allocator().set_cache_limit(2 * kMiB);
  allocator().free(large);
  EXPECT_EQ(now().cached_count, 2u);
}

TEST_P(AllocatorLimits, the_least_recently_freed_leaves_first) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 1; i <= 3; ++i) buffers.push_back(allocator().malloc(kMiB * i));
  allocator().free(buffers[1]);
  allocator().free(buffers[0]);
  allocator().free(buffers[2]);
  allocator().set_cache_limit(5 * kMiB);  // of 6: the one of two MiB, freed first, has to go
  const std::uint64_t calls = now().device_mallocs;
  const Buffer one = allocator().malloc(kMiB);
  const Buffer three = allocator().malloc(3 * kMiB);
  EXPECT_EQ(now().device_mallocs, calls) << "those two were kept";
  allocator().free(one);
  allocator().free(three);
}

TEST_P(AllocatorLimits, emptying_the_cache_gives_back_all_that_is_not_out) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  const Buffer held = allocator().malloc(kMiB);
  allocator().free(allocator().malloc(4));
  fill_cache(100);
  const std::uint64_t reserved = now().reserved_bytes;
  const std::uint64_t gone = allocator().empty_cache();
  EXPECT_EQ(now().reserved_bytes, kMiB);
  EXPECT_EQ(gone, reserved - kMiB);
  EXPECT_EQ(allocator().empty_cache(), 0u);
  allocator().free(held);
}

TEST_P(AllocatorLimits, a_hard_memory_limit_is_an_error_that_names_everything) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  allocator().set_memory_limit(4 * kMiB, LimitRule::hard);
  const Buffer a = allocator().malloc(2 * kMiB);
  const Buffer b = allocator().malloc(kMiB);
  allocator().free(allocator().malloc(kMiB));
  const Statistics before = now();
  const auto error = error_of<OutOfMemory>([&] { (void)allocator().malloc(2 * kMiB); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->requested, 2 * kMiB);
  EXPECT_EQ(error->limit, 4 * kMiB);
  EXPECT_EQ(error->available, kMiB);
  for (const std::uint64_t named : {2 * kMiB, 3 * kMiB, 4 * kMiB}) {
    EXPECT_THAT(error->what(), testing::HasSubstr(std::to_string(named)));
  }
  EXPECT_THAT(error->what(), testing::HasSubstr("largest holders: 2097152 bytes"));
  EXPECT_EQ(now().active_bytes, before.active_bytes);
  EXPECT_EQ(now().out_of_memory, 1u);
  const Buffer c = allocator().malloc(kMiB);
  EXPECT_LE(now().reserved_bytes, 4 * kMiB);
  allocator().set_memory_limit(4 * kMiB);
  const Buffer d = allocator().malloc(8 * kMiB);  // a guideline again
  std::vector<Buffer> all = {a, b, c, d};
  free_all(all);
}

TEST_P(AllocatorLimits, a_hard_limit_below_what_is_out_keeps_it_and_refuses_more) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  const Buffer a = allocator().malloc(2 * kMiB);
  const Buffer small = allocator().malloc(4);
  fill_cache(1);
  allocator().set_memory_limit(kMiB, LimitRule::hard);
  EXPECT_EQ(now().cached_count, 0u) << "the cache is what can go";
  EXPECT_THROW((void)allocator().malloc(kMiB), OutOfMemory);
  EXPECT_THROW((void)allocator().malloc(4), OutOfMemory);
  allocator().set_memory_limit(0, LimitRule::hard);
  EXPECT_THROW((void)allocator().malloc(1), OutOfMemory);
  EXPECT_EQ(allocator().size(a), 2 * kMiB);
  allocator().set_memory_limit(UINT64_MAX, LimitRule::hard);
  const Buffer b = allocator().malloc(kMiB);
  std::vector<Buffer> all = {a, b, small};
  free_all(all);
}

TEST_P(AllocatorLimits, a_guideline_of_nothing_refuses_nothing_and_keeps_caches_small) {
  fill_cache(4);
  allocator().set_memory_limit(0);
  const Buffer a = allocator().malloc(8 * kMiB);
  EXPECT_EQ(now().cached_count, 0u) << "a miss past the limit empties the cache";
  allocator().free(a);
}

TEST_P(AllocatorLimits, past_the_gc_limit_a_miss_evicts_the_excess_and_no_more) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  fill_cache(8);
  const std::uint64_t reserved = now().reserved_bytes;
  allocator().set_memory_limit(reserved + 2 * kMiB);
  const Buffer a = allocator().malloc(4 * kMiB);
  EXPECT_EQ(now().cached_count, 6u);
  EXPECT_EQ(now().reserved_bytes, reserved + 2 * kMiB);
  allocator().free(a);
}

TEST_P(AllocatorLimits, a_limit_of_buffers_evicts_as_many_as_it_takes_and_says_what_it_counts) {
  if (!keeps_buffers()) GTEST_SKIP() << "it keeps segments: segment_limits_test.cpp";
  fill_cache(4);
  const std::uint64_t buffers = now().buffer_count;
  allocator().set_buffer_limit(buffers);
  std::vector<Buffer> out = {allocator().malloc(3 * kMiB)};
  EXPECT_EQ(now().buffer_count, buffers);
  EXPECT_EQ(now().cached_count, 3u) << "one made room";
  for (std::uint64_t i = 1; i < buffers; ++i) out.push_back(allocator().malloc(3 * kMiB));
  const auto error = error_of<OutOfMemory>([&] { (void)allocator().malloc(3 * kMiB); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::HasSubstr("resource limit (" + std::to_string(buffers)));
  EXPECT_THAT(error->what(), testing::HasSubstr(std::to_string(buffers) + " buffers of the"));
  EXPECT_EQ(error->limit, buffers);
  allocator().set_buffer_limit(0);
  EXPECT_THROW((void)allocator().malloc(3 * kMiB), OutOfMemory);
  if (facts().supports.no_copy_buffers) {
    alignas(64) static std::byte foreign[1 << 16];
    const auto start = reinterpret_cast<std::uintptr_t>(foreign);
    void* aligned = reinterpret_cast<void*>((start + 4095) / 4096 * 4096);
    EXPECT_THROW((void)allocator().make_buffer(aligned, 4096), OutOfMemory);
  }
  allocator().free(out.back());
  out.pop_back();
  out.push_back(allocator().malloc(3 * kMiB));  // what is cached needs no new buffer
  free_all(out);
}

TEST_P(AllocatorLimits, a_wired_limit_past_the_working_set_is_an_error) {
  if (!facts().supports.residency) {
    EXPECT_EQ(allocator().set_wired_limit(UINT64_MAX), 0u);
    return;
  }
  EXPECT_THAT(message_of<InvalidArgument>(
                  [&] { allocator().set_wired_limit(facts().working_set_bytes + 1); }),
              testing::HasSubstr(std::to_string(facts().working_set_bytes)));
  EXPECT_EQ(allocator().set_wired_limit(0), 0u);
}

TEST_P(AllocatorLimits, segments_are_what_is_reserved_and_their_blocks_what_is_active) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 300; ++i) {
    buffers.push_back(allocator().malloc(static_cast<std::uint64_t>(i) * 97 % 9000 + 1));
  }
  for (std::size_t i = 0; i < buffers.size(); i += 3) {
    allocator().free(buffers[i]);
    buffers[i] = {};
  }
  std::uint64_t reserved = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
  device::Address end = 0;
  for (const record::SegmentState& segment : allocator().segments()) {
    EXPECT_GE(segment.address, end);
    end = segment.address;
    for (const record::BlockState& block : segment.blocks) {
      EXPECT_EQ(block.address, end);
      end += block.size;
      if (block.use == record::BlockUse::inactive) continue;
      active += block.size;
      requested += block.requested;
    }
    EXPECT_EQ(end, segment.address + segment.size);
    reserved += segment.size;
  }
  EXPECT_EQ(reserved, now().reserved_bytes);
  EXPECT_EQ(active, now().active_bytes);
  EXPECT_EQ(requested, now().requested_bytes);
  free_all(buffers);
}

TEST_P(AllocatorLimits, threads_share_an_allocator) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  allocator().set_cache_limit(2 * kMiB);
  allocator().set_memory_limit(16 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      std::vector<Buffer> held;
      for (int i = 0; i < kRounds; ++i) {
        const auto bytes = static_cast<std::uint64_t>((i * 7919 + t * 104729) % 70'000);
        held.push_back(allocator().malloc(bytes));
        if (held.size() > 20) {
          allocator().free(held.front());
          held.erase(held.begin());
        }
        if (i % 500 == 0) allocator().empty_cache();
      }
      for (const Buffer buffer : held) allocator().free(buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  allocator().validate();
  EXPECT_EQ(now().active_bytes, 0u);
  EXPECT_EQ(now().mallocs, now().frees);
  EXPECT_EQ(now().refused_frees, 0u);
}

}  // namespace
}  // namespace strandline::alloc
