// SPDX-License-Identifier: Apache-2.0
// Statistics of a SegmentAllocator under the names that PyTorch's memory_stats uses, and those it
// leaves out.
//
//   current = Σ allocated - Σ freed since the allocator was made
//   all = small_pool + large_pool, but for peaks, which are of the sum
#pragma once

#include <cstdint>
#include <map>

#include "strandline/core/ids.h"

namespace strandline::alloc {

/// One number over time. `allocated` and `freed` are sums since the last reset.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;
  std::int64_t freed = 0;

  bool operator==(const Stat&) const = default;
};

struct StatByPool {
  Stat all;
  Stat small_pool;
  Stat large_pool;

  bool operator==(const StatByPool&) const = default;
};

struct SegmentStatistics {
  // Counts.
  StatByPool allocation;      ///< blocks handed out and not freed
  StatByPool segment;         ///< spans obtained from the device
  StatByPool active;          ///< blocks handed out, or freed and still in use by a stream
  StatByPool inactive_split;  ///< free blocks of segments that are partly in use
  // Bytes.
  StatByPool allocated_bytes;
  StatByPool reserved_bytes;
  StatByPool active_bytes;
  StatByPool inactive_split_bytes;
  StatByPool requested_bytes;  ///< of active blocks
  // Blocks and segments of max_split_bytes or more.
  Stat oversize_allocations;
  Stat oversize_segments;
  std::map<PoolId, StatByPool> reserved_bytes_by_private_pools;

  std::uint64_t num_alloc_retries = 0;  ///< device allocations asked again after all was released
  std::uint64_t num_ooms = 0;
  std::uint64_t num_sync_all_streams = 0;  ///< waits for everything that streams still use
  std::uint64_t num_device_alloc = 0;
  std::uint64_t num_device_free = 0;
  std::uint64_t num_oom_rejections = 0;  ///< refused by throw_on_device_malloc_oom
  std::uint64_t max_split_size = UINT64_MAX;

  // Not in PyTorch.
  std::uint64_t num_event_waits = 0;      ///< waits for single device events
  std::uint64_t pending_free_blocks = 0;  ///< freed by the program, in use by a stream
  std::uint64_t pending_free_bytes = 0;

  bool operator==(const SegmentStatistics&) const = default;
};

}  // namespace strandline::alloc
