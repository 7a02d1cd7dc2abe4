// SPDX-License-Identifier: Apache-2.0
// A block of a segment: the record that every allocator has (block_table.h) and, in a second cache
// line, what segments need. Plain data for the policies BlockList and BestFit, which know offsets
// only and never touch memory.
//
//   next, previous   the neighbours by address in the segment; both null: the block is all of it
//   use              kept: free, and in the index of its stream;  allocated;  pending: freed by the
//                    program while a stream still uses it
#pragma once

#include <cstdint>

#include "alloc/block_table.h"

namespace strandline::alloc {

struct Segment;
struct StreamUse;

struct SegmentBlock final : Block {
  Segment* segment = nullptr;
  SegmentBlock* left = nullptr;  ///< of the search tree it is in while it is free
  SegmentBlock* right = nullptr;
  StreamUse* uses = nullptr;    ///< by other streams than its own, see use_queues.h
  std::uint64_t age_start = 0;  ///< the pool's count of searches when the block became free
  std::uint64_t freed_at = 0;   ///< grows with every free; whose is smallest was freed first
  std::uint32_t order = 0;      ///< of its segment: older ones are smaller
  std::uint32_t priority = 0;   ///< in the search tree: a hash of the address
  std::uint32_t pending = 0;    ///< uses that are waited for
  bool is_oversize = false;     ///< counted as such when it was handed out
  bool is_small = true;         ///< of the pool's half for small blocks

  SegmentBlock* following() const noexcept { return static_cast<SegmentBlock*>(next); }
  SegmentBlock* preceding() const noexcept { return static_cast<SegmentBlock*>(previous); }
  bool is_part() const noexcept { return next != nullptr || previous != nullptr; }
};
static_assert(sizeof(SegmentBlock) == 2 * sizeof(Block), "two cache lines");

/// The second line of the record, or all of it, will be looked at soon; null is nothing to look at.
inline void expect_links(const SegmentBlock* block) noexcept {
  __builtin_prefetch(
      reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(block) + sizeof(Block)));
}
inline void expect_block(const SegmentBlock* block) noexcept {
  __builtin_prefetch(block);
  expect_links(block);
}

}  // namespace strandline::alloc
