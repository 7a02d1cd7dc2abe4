// SPDX-License-Identifier: Apache-2.0
// The invariants of a segment's blocks.
#include "alloc/segment/block_list.h"

#include <string>

#include <fmt/format.h>

#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

void check(bool holds, const char* what, const SegmentBlock& block) {
  if (holds) return;
  throw InternalError(error_message("BlockList::validate", what,
                                    fmt::format("{} bytes at {:#x}", block.size, block.address),
                                    "blocks that touch and fill their segment"));
}

}  // namespace

void BlockList::validate(const SegmentBlock& first, std::uint64_t address, std::uint64_t size) {
  check(first.address == address && first.previous == nullptr, "the first block", first);
  std::uint64_t end = address;
  const Block* before = nullptr;
  for (const SegmentBlock* block = &first; block != nullptr; block = block->following()) {
    check(block->address == end, "a gap or an overlap", *block);
    check(block->size > 0, "an empty block", *block);
    check(block->previous == before, "neighbours that disagree", *block);
    check(block->segment == first.segment, "a block of another segment", *block);
    check(block->use != BlockUse::unused, "a record that stands for nothing", *block);
    check(!(is_free(block) && is_free(before)), "free neighbours that were not joined", *block);
    end += block->size;
    before = block;
  }
  check(end == address + size, "the end of the last block", first);
}

}  // namespace strandline::alloc
