// SPDX-License-Identifier: Apache-2.0
// The state of an allocator against the model: its sums, and its segments block by block.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/random/model.h"
#include "strandline/alloc/allocator.h"

namespace strandline::alloc::random {

/// Whether the cache is within its limit, which must be so unless `may_be_over`. Of the
/// `device_refusals` so far some were no frees of the allocator's (ends of residency).
inline bool check_sums(const Allocator& allocator, const Model& model, const Limits& limits,
                       bool may_be_over, std::uint64_t device_refusals) {
  const Statistics now = allocator.statistics();
  must_equal(now.allocated_bytes, model.active, "allocated bytes");
  must_equal(now.active_bytes, model.active, "active bytes");
  must_equal(now.requested_bytes, model.requested, "requested bytes");
  must_equal(now.allocated_count, model.count(), "allocated count");
  must_equal(now.peak_active_bytes, model.peak, "peak of active bytes");
  must_equal(now.mallocs, model.mallocs, "mallocs");
  must_equal(now.frees, model.frees, "frees");
  must(now.refused_frees >= model.refused && now.refused_frees <= model.refused + device_refusals,
       "refused frees are not those of wrong frees and of the device");
  must(now.active_bytes <= now.reserved_bytes, "more active than reserved");
  must_equal(now.cached_bytes, now.reserved_bytes - now.active_bytes, "cached bytes");
  const bool is_within = now.cached_bytes - now.spare_bytes <= limits.cache_bytes;
  must(is_within || may_be_over, "more cached than the limit");
  return is_within;
}

/// Every live block lies in one segment as such a block, and nothing else is said to be live.
inline void check_segments(const Allocator& allocator, const Model& model) {
  std::uint64_t reserved = 0;
  std::uint64_t end = 0;
  std::size_t live = 0;
  for (const record::SegmentState& segment : allocator.segments()) {
    must(segment.address >= end, "segments overlap or are out of order");
    end = segment.address + segment.size;
    reserved += segment.size;
    std::uint64_t at = segment.address;
    for (const record::BlockState& block : segment.blocks) {
      must_equal(block.address, at, "where a block of a segment starts");
      at += block.size;
      if (block.use != record::BlockUse::allocated) continue;
      ++live;
      const auto known = model.by_address().find(block.address);
      must(known != model.by_address().end(), "a segment has a live block that nobody holds");
      must_equal(block.size, known->second, "size of a segment's block");
    }
    must_equal(at, end, "end of a segment's blocks");
  }
  must_equal(live, model.count(), "live blocks in segments");
  must_equal(allocator.statistics().reserved_bytes, reserved, "reserved bytes");
}

}  // namespace strandline::alloc::random
