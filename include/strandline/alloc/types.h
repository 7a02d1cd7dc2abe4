// SPDX-License-Identifier: Apache-2.0
// What allocators are asked and what they answer, apart from the calls themselves: options of a
// malloc, limits, statistics. Sizes are bytes; a count that counts something else says so.
#pragma once

#include <cstdint>

#include "strandline/core/ids.h"

namespace strandline::alloc {

struct MallocOptions {
  std::uint64_t alignment = 0;  ///< of the payload, a power of two; 0: the allocator's own, >= 64
  StreamId stream{};            ///< whose work will write it; none: the host
};

/// What a memory limit does when an allocation would pass it.
enum class LimitRule : std::uint8_t {
  guideline,  ///< nothing but smaller caches: whoever runs the program looks at it and waits
  hard,       ///< malloc throws OutOfMemory
};

enum class PeakReset : std::uint8_t {
  to_current,  ///< the peaks become what is active and reserved now
  to_zero,     ///< as MLX: 0, until the next malloc
};

struct MemoryLimit {
  std::uint64_t bytes = 0;
  LimitRule rule = LimitRule::guideline;

  bool operator==(const MemoryLimit&) const = default;
};

struct Limits {
  MemoryLimit memory;
  std::uint64_t gc_bytes = 0;  ///< on a miss, cached buffers leave that would put reserved past it
  std::uint64_t cache_bytes = 0;  ///< kept for reuse at most, whole buffers
  std::uint64_t wired_bytes = 0;  ///< resident at most; 0 where the device has no residency
  std::uint64_t buffers = 0;      ///< buffer objects of the device at most: active, cached, wrapped

  bool operator==(const Limits&) const = default;
};

/// One moment, taken under the allocator's lock.
///   allocated <= active <= reserved, cached = reserved - active, requested <= active
struct Statistics {
  std::uint64_t allocated_bytes = 0;  ///< handed out and not freed by the program
  std::uint64_t active_bytes = 0;     ///< allocated, or freed and still in use by a stream
  std::uint64_t requested_bytes = 0;  ///< what was asked for, of the allocated
  std::uint64_t reserved_bytes = 0;   ///< obtained from the device or wrapped
  std::uint64_t cached_bytes = 0;     ///< reserved - active
  std::uint64_t spare_bytes = 0;      ///< of cached: free slots of small heaps, no whole buffers
  std::uint64_t wired_bytes = 0;
  std::uint64_t peak_active_bytes = 0;    ///< since the last reset
  std::uint64_t peak_reserved_bytes = 0;  ///< since the last reset
  std::uint64_t allocated_count = 0;      ///< blocks
  std::uint64_t cached_count = 0;         ///< whole buffers kept for reuse
  std::uint64_t buffer_count = 0;         ///< buffer objects of the device, wrapped ones included
  // Since the allocator was made.
  std::uint64_t mallocs = 0;         ///< that gave memory
  std::uint64_t device_mallocs = 0;  ///< of them, those that went to the device
  std::uint64_t frees = 0;           ///< that took memory back
  std::uint64_t refused_frees = 0;   ///< of what is unknown, and those that the device refused
  std::uint64_t out_of_memory = 0;   ///< thrown

  bool operator==(const Statistics&) const = default;
};

}  // namespace strandline::alloc
