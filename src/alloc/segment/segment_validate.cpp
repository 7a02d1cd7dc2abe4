// SPDX-License-Identifier: Apache-2.0
// The invariants of a SegmentAllocator: what its books say is what its segments show.
#include <array>
#include <string>

#include "alloc/segment/segment_core.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

namespace {

void check(const char* what, std::uint64_t is, std::uint64_t should) {
  if (is == should) return;
  throw InternalError(error_message("SegmentAllocator::validate", what, std::to_string(is),
                                    std::to_string(should)));
}

struct Found {
  std::array<std::uint64_t, kCounts> of = {};
  std::uint64_t& operator[](Count what) { return of[static_cast<std::size_t>(what)]; }
};

void add_block(Found& found, const SegmentBlock& block) {
  if (block.use == BlockUse::kept) {
    if (!block.is_part()) return;
    ++found[Count::inactive_split];
    found[Count::inactive_split_bytes] += block.size;
    return;
  }
  ++found[Count::active];
  found[Count::active_bytes] += block.size;
  found[Count::requested_bytes] += block.requested;
  if (block.use != BlockUse::allocated) return;
  ++found[Count::allocation];
  found[Count::allocated_bytes] += block.size;
}

}  // namespace

void SegmentCore::do_validate() const {
  check("the parked block was handed out last", parked_ == nullptr || parked_ == placed_ ? 1 : 0,
        1);
  check("repeats of no block", placed_ == nullptr ? repeats_ : 0, 0);
  show_parked();
  std::array<Found, 2> found;
  std::uint64_t free_blocks = 0;
  std::uint64_t indexed = 0;
  std::uint64_t segments = 0;
  std::uint64_t queued = 0;
  pools_.for_each_half([&](const HalfPool& half) STRANDLINE_NO_LOCK_ANALYSIS {
    for (const auto& index : half.indexes) {
      index->fit.validate();
      indexed += index->fit.count();
    }
    std::uint64_t reserved = 0;
    for (const Segment* one = half.oldest; one != nullptr; one = one->next) {
      BlockList::validate(*one->first, one->region->address, one->region->size);
      ++segments;
      reserved += one->region->size;
      ++found[half.kind][Count::segment];
      found[half.kind][Count::reserved_bytes] += one->region->size;
      check("the pool of a segment", one->index->half == &half ? 1 : 0, 1);
      for (const SegmentBlock* block = one->first; block != nullptr; block = block->following()) {
        add_block(found[half.kind], *block);
        if (block->use == BlockUse::kept && !one->is_leaving) ++free_blocks;
        std::uint64_t uses = 0;
        for (const StreamUse* use = block->uses; use != nullptr; use = use->next_of_block) {
          ++uses;
          queued += use->is_queued ? 1 : 0;
        }
        check("uses of a free block", block->use == BlockUse::kept ? uses : 0, 0);
        check("uses waited for", block->use == BlockUse::pending ? block->pending : uses, uses);
      }
    }
    if (half.owner != nullptr) {
      check("reserved bytes of a private pool",
            half.owner->reserved.current(half.kind, Count::reserved_bytes), reserved);
    }
  });
  for (const Accounts::Pool kind : {Accounts::small, Accounts::large}) {
    for (std::size_t i = 0; i < kCounts; ++i) {
      check("a count of blocks or bytes", accounts_.current(kind, static_cast<Count>(i)),
            found[kind].of[i]);
    }
  }
  check("free blocks in indexes", indexed, free_blocks);
  check("uses in queues", uses_.queued(), queued);
  check("segments", segment_count_, segments);
  check("bytes of segments", segment_bytes_, accounts_.current(Count::reserved_bytes));
}

}  // namespace strandline::alloc
