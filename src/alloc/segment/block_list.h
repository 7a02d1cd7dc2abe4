// SPDX-License-Identifier: Apache-2.0
// The blocks of one segment by address: cutting one in two and joining what is free. A policy: it
// moves borders and nothing else. The record of the lower part is the one that stays, in both
// directions, so that a block that is cut off and joined again needs no bookkeeping by address.
//
//   invariants  first.address = address of the segment; block.address + block.size =
//               block.next.address; Σ size = size of the segment; no two free neighbours
//
// Not synchronised.
#pragma once

#include <cstdint>

#include "alloc/segment/segment_block.h"

namespace strandline::alloc {

class BlockList {
 public:
  /// `block` keeps its first `size` bytes; `rest`, a fresh record, becomes the part after them.
  static void cut(SegmentBlock& block, std::uint64_t size, SegmentBlock& rest) noexcept {
    rest.address = block.address + size;
    rest.size = block.size - size;
    rest.segment = block.segment;
    rest.is_small = block.is_small;
    rest.order = block.order;
    rest.stream = block.stream;
    rest.buffer = block.buffer;
    rest.kind = BlockKind::slot;
    rest.previous = &block;
    rest.next = block.next;
    if (block.next != nullptr) block.next->previous = &rest;
    block.next = &rest;
    block.size = size;
  }

  /// `block` becomes one with its upper neighbour, whose record stands for nothing afterwards.
  static void join_next(SegmentBlock& block) noexcept {
    Block& gone = *block.next;
    block.size += gone.size;
    block.next = gone.next;
    if (gone.next != nullptr) gone.next->previous = &block;
  }

  /// Both will be looked at soon.
  static void expect_neighbours(const SegmentBlock& block) noexcept {
    expect_block(block.preceding());
    expect_block(block.following());
  }

  static bool is_free(const Block* block) noexcept {
    return block != nullptr && block->use == BlockUse::kept;
  }

  /// Throws InternalError where an invariant does not hold between `first` and the end of the
  /// `size` bytes at its address.
  static void validate(const SegmentBlock& first, std::uint64_t address, std::uint64_t size);
};

}  // namespace strandline::alloc
