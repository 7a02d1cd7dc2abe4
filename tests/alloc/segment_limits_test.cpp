// SPDX-License-Identifier: Apache-2.0
// Limits of an allocator that keeps segments: what the contract suite says of whole buffers, in
// the unit that this one obtains and gives back.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class SegmentLimits : public testing::Test {
 protected:
  ~SegmentLimits() override { allocator_.validate(); }

  /// Segments of so many MiB, freed in the order given.
  void fill_cache(const std::vector<std::uint64_t>& sizes) {
    std::vector<Buffer> buffers;
    for (const std::uint64_t mib : sizes) buffers.push_back(allocator_.malloc(mib * kMiB));
    for (const Buffer buffer : buffers) allocator_.free(buffer);
  }
  Statistics now() const { return allocator_.statistics(); }
  std::string error_of(std::uint64_t bytes) {
    try {
      (void)allocator_.malloc(bytes);
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.requested, bytes);
      limit_ = error.limit;
      return error.what();
    }
    return "none";
  }

  sim::Machine machine_;
  SegmentAllocator allocator_{machine_.device()};
  std::uint64_t limit_ = 0;
};

TEST_F(SegmentLimits, a_cache_limit_trims_at_once_and_only_the_excess) {
  fill_cache({10, 12, 14, 16});
  ASSERT_EQ(now().cached_count, 4u);
  EXPECT_EQ(now().cached_bytes, 52 * kMiB);
  allocator_.set_cache_limit(42 * kMiB);
  EXPECT_EQ(now().cached_bytes, 42 * kMiB) << "the one freed first is gone";
  allocator_.set_cache_limit(42 * kMiB - 1);
  EXPECT_EQ(now().cached_bytes, 30 * kMiB);
  fill_cache({18});
  EXPECT_EQ(now().cached_bytes, 34 * kMiB) << "and holds later";
  allocator_.set_cache_limit(0);
  EXPECT_EQ(now().cached_bytes, 0u);
  fill_cache({18, 20});
  EXPECT_EQ(now().cached_bytes, 0u);
}

TEST_F(SegmentLimits, what_is_free_in_a_used_segment_is_spare_and_cannot_go) {
  const Buffer held = allocator_.malloc(3 * kMiB);
  fill_cache({18});
  EXPECT_EQ(now().spare_bytes, 17 * kMiB);
  EXPECT_EQ(now().cached_count, 1u);
  EXPECT_EQ(allocator_.empty_cache(), 18 * kMiB);
  EXPECT_EQ(now().cached_bytes, 17 * kMiB);
  EXPECT_EQ(allocator_.empty_cache(), 0u);
  allocator_.free(held);
  EXPECT_EQ(allocator_.empty_cache(), 20 * kMiB);
}

TEST_F(SegmentLimits, a_hard_memory_limit_is_an_error_that_names_everything) {
  allocator_.set_memory_limit(40 * kMiB, LimitRule::hard);
  const Buffer held = allocator_.malloc(3 * kMiB);
  fill_cache({18});
  const std::string text = error_of(30 * kMiB);
  EXPECT_EQ(limit_, 40 * kMiB);
  EXPECT_EQ(now().reserved_bytes, 20 * kMiB) << "idle memory was tried first";
  EXPECT_THAT(text, testing::HasSubstr("limit of 41943040 bytes"));
  EXPECT_THAT(text, testing::HasSubstr("leaves no 31457280 bytes more"));
  EXPECT_THAT(text, testing::HasSubstr("largest hole of this stream and pool is 17825792"));
  EXPECT_THAT(text, testing::HasSubstr("largest holders: 3145728 bytes"));
  EXPECT_EQ(now().out_of_memory, 1u);
  const Buffer fits = allocator_.malloc(17 * kMiB);
  EXPECT_EQ(now().reserved_bytes, 20 * kMiB) << "what is reserved serves on";
  allocator_.set_memory_limit(40 * kMiB);
  const Buffer beyond = allocator_.malloc(30 * kMiB);  // a guideline again
  for (const Buffer buffer : {held, fits, beyond}) allocator_.free(buffer);
}

TEST_F(SegmentLimits, a_hard_limit_below_what_is_out_sends_the_cache_and_refuses_segments) {
  const Buffer held = allocator_.malloc(11 * kMiB);
  fill_cache({14});
  allocator_.set_memory_limit(kMiB, LimitRule::hard);
  EXPECT_EQ(now().reserved_bytes, 12 * kMiB);
  EXPECT_NE(error_of(4), "none");
  EXPECT_EQ(allocator_.size(held), 12 * kMiB) << "a remainder of a MiB is not cut off";
  allocator_.set_memory_limit(UINT64_MAX, LimitRule::hard);
  EXPECT_EQ(error_of(4), "none");
}

TEST_F(SegmentLimits, past_a_guideline_a_miss_sends_the_excess_and_no_more) {
  fill_cache({10, 12, 14});
  allocator_.set_memory_limit(50 * kMiB);
  const Buffer buffer = allocator_.malloc(24 * kMiB);
  EXPECT_EQ(now().reserved_bytes, 50 * kMiB) << "the smallest that suffices went";
  allocator_.free(buffer);
}

TEST_F(SegmentLimits, a_limit_of_buffers_counts_segments) {
  fill_cache({10, 12});
  allocator_.set_buffer_limit(2);
  const Buffer one = allocator_.malloc(14 * kMiB);
  EXPECT_EQ(now().buffer_count, 2u);
  const Buffer two = allocator_.malloc(16 * kMiB);
  EXPECT_THAT(error_of(16 * kMiB), testing::HasSubstr("resource limit (2"));
  allocator_.free(two);
  EXPECT_EQ(error_of(16 * kMiB), "none") << "what is cached needs no new segment";
  allocator_.free(one);
}

TEST_F(SegmentLimits, a_refusal_of_the_device_sends_what_is_idle_and_asks_again) {
  fill_cache({10, 12, 14});
  machine_.add_fault({.call = device::Call::allocate});
  const Buffer buffer = allocator_.malloc(30 * kMiB);
  EXPECT_EQ(now().reserved_bytes, 30 * kMiB) << "no one of them would have sufficed";
  machine_.add_fault({.call = device::Call::allocate, .repeat = sim::FaultRepeat::from_then_on});
  EXPECT_THAT(error_of(40 * kMiB), testing::HasSubstr("0 cached"));
  machine_.clear_faults();
  allocator_.free(buffer);
}

TEST_F(SegmentLimits, the_fraction_of_memory_is_a_hard_limit) {
  const std::uint64_t total = machine_.device().facts().total_bytes;
  EXPECT_EQ(allocator_.set_memory_fraction(0.5), 1);
  EXPECT_EQ(allocator_.limits().memory, (MemoryLimit{total / 2, LimitRule::hard}));
  EXPECT_EQ(allocator_.set_memory_fraction(1), 0.5);
  EXPECT_EQ(allocator_.limits().memory, (MemoryLimit{total, LimitRule::guideline}));
  for (const double wrong : {-0.1, 1.1}) {
    EXPECT_THROW(allocator_.set_memory_fraction(wrong), InvalidArgument);
  }
  EXPECT_EQ(allocator_.memory_fraction(), 1);
}

}  // namespace
}  // namespace strandline::alloc
