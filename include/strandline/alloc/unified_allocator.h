// SPDX-License-Identifier: Apache-2.0
// Memory that host and accelerator share, after MLX's design for Metal: whole buffers, cached when
// freed, a heap for up to 256 bytes, residency under a wired limit. Sizes as in host_allocator.h.
//
//   memory limit  1.5 x the working set, at most 0.95 x the device; a guideline
//   gc limit      0.95 x the working set, at most the memory limit: on a miss that would pass it,
//                 cached buffers leave, the least recently freed first, as many as it takes
//   cache limit   the memory limit at the start; does not follow it later
//   wired limit   0; heaps and buffers are wired as they come while they fit, stay so while cached,
//                 and wait otherwise until the limit rises (ResidencySet)
//
// The working set is the device's; where that is below a quarter of the device, as the host's limit
// of locked memory can be, three quarters of the device stand in for it in the first three.
#pragma once

#include <cstdint>
#include <optional>

#include "strandline/alloc/allocator.h"

namespace strandline::alloc {

struct UnifiedAllocatorOptions {
  device::Placement placement = device::Placement::managed;
  std::optional<std::uint64_t> memory_limit_bytes{};  ///< default: as above
  std::optional<std::uint64_t> cache_limit_bytes{};   ///< default: as above
  std::optional<std::uint64_t> buffer_limit{};        ///< default: Facts::max_buffers, else 499,000
  std::uint64_t page_bytes = 0;  ///< a power of two; 0: the device's granularity
};

class STRANDLINE_API UnifiedAllocator final : public Allocator {
 public:
  /// The device outlives the allocator. InvalidArgument for options it cannot serve.
  explicit UnifiedAllocator(device::Device& device, const UnifiedAllocatorOptions& options = {});
};

}  // namespace strandline::alloc
