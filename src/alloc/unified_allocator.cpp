// SPDX-License-Identifier: Apache-2.0
// Limits of unified memory, from the device's working set.
#include "strandline/alloc/unified_allocator.h"

#include <algorithm>

#include "alloc/buffer_pool.h"
#include "alloc/limits.h"

namespace strandline::alloc {
namespace {

PoolOptions pool_options(const device::Facts& facts, const UnifiedAllocatorOptions& options) {
  // Less than a quarter is no recommendation, but a process's limit of locked memory, or nothing.
  const std::uint64_t working_set = facts.working_set_bytes >= facts.total_bytes / 4
                                        ? facts.working_set_bytes
                                        : share(facts.total_bytes, 75);
  const std::uint64_t memory_limit = options.memory_limit_bytes.value_or(
      std::min(share(working_set, 150), share(facts.total_bytes, 95)));
  return {.name = "UnifiedAllocator",
          .placement = options.placement,
          .limits = {.memory = {.bytes = memory_limit},
                     .gc_bytes = share(working_set, 95),
                     .cache_bytes = options.cache_limit_bytes.value_or(memory_limit),
                     .wired_bytes = 0,
                     .buffers = options.buffer_limit.value_or(buffer_cap(facts))},
          .page_bytes = options.page_bytes,
          .has_residency = true};
}

}  // namespace

UnifiedAllocator::UnifiedAllocator(device::Device& device, const UnifiedAllocatorOptions& options)
    : Allocator(std::make_unique<BufferPool>(device, pool_options(device.facts(), options))) {}

}  // namespace strandline::alloc
