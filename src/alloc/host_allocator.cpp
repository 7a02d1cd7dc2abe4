// SPDX-License-Identifier: Apache-2.0
// Limits of the host: a share of the machine's memory.
#include "strandline/alloc/host_allocator.h"

#include "alloc/buffer_pool.h"
#include "alloc/limits.h"

namespace strandline::alloc {

HostAllocator::HostAllocator(device::Device& device, const HostAllocatorOptions& options)
    : Allocator(std::make_unique<BufferPool>(
          device,
          PoolOptions{
              .name = "HostAllocator",
              .placement = options.placement,
              .limits = {.memory = {.bytes = options.memory_limit_bytes.value_or(
                                        share(device.facts().total_bytes, 80))},
                         .gc_bytes = UINT64_MAX,
                         .cache_bytes =
                             options.cache_limit_bytes.value_or(device.facts().total_bytes / 8),
                         .wired_bytes = 0,
                         .buffers = options.buffer_limit.value_or(buffer_cap(device.facts()))},
              .page_bytes = options.page_bytes})) {}

}  // namespace strandline::alloc
