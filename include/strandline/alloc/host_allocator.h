// SPDX-License-Identifier: Apache-2.0
// Memory for arrays of the CPU: whole buffers, cached when freed, and a heap for the smallest.
//
//   <= 256 bytes    a slot of 256 bytes from a heap of 1 MiB
//   larger          a buffer of its own, in multiples of a page; freed buffers serve requests of at
//                   least half their size and at most two pages less (BufferCache)
#pragma once

#include <cstdint>
#include <optional>

#include "strandline/alloc/allocator.h"

namespace strandline::alloc {

struct HostAllocatorOptions {
  device::Placement placement = device::Placement::host;
  std::optional<std::uint64_t> memory_limit_bytes{};  ///< default: 0.8 x the device's total
  std::optional<std::uint64_t> cache_limit_bytes{};   ///< default: an eighth of the total
  std::optional<std::uint64_t> buffer_limit{};        ///< default: Facts::max_buffers, else 499,000
  std::uint64_t page_bytes = 0;  ///< a power of two; 0: the device's granularity
};

class STRANDLINE_API HostAllocator final : public Allocator {
 public:
  /// The device outlives the allocator. InvalidArgument for options it cannot serve.
  explicit HostAllocator(device::Device& device, const HostAllocatorOptions& options = {});
};

}  // namespace strandline::alloc
