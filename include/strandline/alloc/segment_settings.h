// SPDX-License-Identifier: Apache-2.0
// The decided values behind SegmentAllocator's settings: what the parser of settings yields and
// what the allocator reads. Plain data; nothing here knows keys, spellings or text.
//
// Sizes are bytes. The defaults are PyTorch's. What a value may be stands beside it, and
// SegmentAllocator refuses others with InvalidArgument; a parser says it earlier and better.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace strandline::alloc {

struct SegmentSettings {
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;
  static constexpr std::uint64_t kLargeSegmentBytes = 20 << 20;
  /// Intervals of the table below: [1 MiB << i, 2 MiB << i), the first also all below, the last
  /// also all above.
  static constexpr std::size_t kIntervals = 16;

  /// Obtained for a request above 1 MiB and below 10 MiB; a multiple of 512, above 10 MiB.
  std::uint64_t large_segment_bytes = kLargeSegmentBytes;
  /// Blocks from here on are oversize: never cut, and for oversize requests only. At least
  /// large_segment_bytes.
  std::uint64_t max_split_bytes = kUnlimited;
  /// An oversize block serves requests that are smaller by less than this. At least
  /// large_segment_bytes, whose default it follows.
  std::uint64_t max_non_split_rounding_bytes = kLargeSegmentBytes;
  /// Share of the memory limit (of the device where there is none) past which blocks that have not
  /// been used for long go back to the device; 0: never. In [0, 1).
  double garbage_collection_threshold = 0;
  /// Steps between powers of two that sizes are rounded up to, by interval; each a power of two,
  /// or 0: multiples of 512 bytes. 1: the next power of two (compatibility: as 0).
  std::array<std::uint64_t, kIntervals> roundup_power2_divisions = {};
  /// Of the device's memory, what this allocator may obtain; 1: no limit. In [0, 1].
  double per_process_memory_fraction = 1.0;
  /// Out of memory at once when the device has no more, instead of giving back what is cached.
  bool throw_on_device_malloc_oom = false;
  /// The lock is released around a device allocation. Ours always is: read by nobody.
  bool release_lock_on_device_malloc = false;

  // Not served yet; kept so that a configuration is not lost.
  bool expandable_segments = false;
  double expandable_reserve_fraction = 0;      ///< of the device; 0: not given
  std::uint64_t expandable_reserve_bytes = 0;  ///< 0: not given
  bool graph_capture_record_stream_reuse = false;

  bool operator==(const SegmentSettings&) const = default;
};

}  // namespace strandline::alloc
