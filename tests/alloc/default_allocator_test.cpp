// SPDX-License-Identifier: Apache-2.0
// Defaults by device, and MLX's functions over them.
#include "strandline/alloc/default_allocator.h"

#include <memory>

#include <gtest/gtest.h>

#include "strandline/alloc/device_buffer.h"
#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/memory.h"
#include "strandline/alloc/unified_allocator.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc {
namespace {

class Defaults : public testing::Test {
 protected:
  ~Defaults() override { (void)reset_default_allocator(host_device()); }
};

TEST_F(Defaults, the_host_has_one_from_the_start) {
  EXPECT_EQ(default_allocator().name(), "HostAllocator");
  EXPECT_EQ(&default_allocator(), &default_allocator(host_device()));
  EXPECT_EQ(&default_allocator().device(), &host_device());
}

TEST_F(Defaults, another_device_has_one_once_it_is_set) {
  sim::Machine machine;
  EXPECT_THROW((void)default_allocator(machine.device()), InvalidArgument);
  const auto mine = std::make_shared<UnifiedAllocator>(machine.device());
  EXPECT_EQ(set_default_allocator(mine), nullptr);
  EXPECT_EQ(&default_allocator(machine.device()), mine.get());
  EXPECT_EQ(default_allocator().name(), "HostAllocator") << "the host's is another";
  EXPECT_EQ(reset_default_allocator(machine.device()), mine);
  EXPECT_THROW((void)default_allocator(machine.device()), InvalidArgument);
  EXPECT_THROW(set_default_allocator(nullptr), InvalidArgument);
}

TEST_F(Defaults, buffers_return_where_they_came_from_whatever_is_set_meanwhile) {
  DeviceBuffer buffer(5000);
  Allocator& first = default_allocator();
  const std::uint64_t active = first.active_bytes();
  DeviceBuffer freed(9000);
  freed.reset();
  {
    const std::shared_ptr<Allocator> previous =
        set_default_allocator(std::make_shared<UnifiedAllocator>(host_device()));
    EXPECT_EQ(previous.get(), &first);
  }
  EXPECT_EQ(first.statistics().cached_count, 0u) << "a replaced allocator keeps nothing";
  EXPECT_EQ(default_allocator().name(), "UnifiedAllocator");
  DeviceBuffer second(5000);
  EXPECT_NE(second.buffer().allocator(), &first);
  EXPECT_EQ(buffer.buffer().allocator(), &first);
  buffer.reset();
  EXPECT_LT(first.active_bytes(), active);
  EXPECT_EQ(first.statistics().refused_frees, 0u);
}

TEST_F(Defaults, the_memory_functions_are_those_of_the_default) {
  (void)set_default_allocator(std::make_shared<UnifiedAllocator>(host_device()));
  EXPECT_EQ(get_active_memory(), 0u);
  {
    DeviceBuffer large(1 << 20);
    DeviceBuffer small(4);
    EXPECT_EQ(get_active_memory(), (1u << 20) + 256);
    large.reset();
    EXPECT_EQ(get_active_memory(), 256u);
    EXPECT_EQ(get_peak_memory(), (1u << 20) + 256);
    EXPECT_EQ(get_cache_memory(), 1u << 20) << "spare slots of the heap are no cache";
    reset_peak_memory();
    EXPECT_EQ(get_peak_memory(), 256u);
    clear_cache();
    EXPECT_EQ(get_cache_memory(), 0u);
  }
  const std::uint64_t limit = get_memory_limit();
  EXPECT_EQ(set_memory_limit(10), limit);
  EXPECT_EQ(get_memory_limit(), 10u);
  EXPECT_EQ(set_memory_limit(limit, LimitRule::hard), 10u);
  EXPECT_EQ(set_memory_limit(limit), limit);
  const std::uint64_t cache = set_cache_limit(0);
  EXPECT_EQ(set_cache_limit(cache), 0u);
  EXPECT_EQ(set_wired_limit(0), 0u);
}

}  // namespace
}  // namespace strandline::alloc
