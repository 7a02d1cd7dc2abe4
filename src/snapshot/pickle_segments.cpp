// SPDX-License-Identifier: Apache-2.0
// One dictionary a segment, its sums taken from its blocks.
#include "snapshot/pickle_segments.h"

namespace strandline::snapshot {
namespace {

using record::BlockUse;

/// -1 in 8 bits: the device that pinned memory of the host is told to be of.
constexpr std::uint8_t kHost = 255;

struct SegmentSums {
  std::uint64_t allocated = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
};

SegmentSums sums_of(const SegmentRow& segment, const BlockColumns& blocks) {
  SegmentSums sums;
  for (std::size_t i = 0; i < segment.block_count; ++i) {
    const std::size_t b = segment.first_block + i;
    const BlockUse use = blocks.use[b];
    if (use == BlockUse::inactive) continue;
    sums.active += blocks.size[b];
    sums.requested += blocks.requested[b];
    if (use == BlockUse::allocated) sums.allocated += blocks.size[b];
  }
  return sums;
}

Word state_of(BlockUse use) {
  switch (use) {
    case BlockUse::allocated:
      return Word::active_allocated;
    case BlockUse::pending_free:
      return Word::active_pending_free;
    case BlockUse::inactive:
      break;
  }
  return Word::inactive;
}

}  // namespace

void PickleSegments::field(Word key, std::uint64_t value) {
  parts_.word(key);
  encoder_.integer(value);
}

void PickleSegments::write() {
  PickleList list(encoder_);
  for (std::size_t s = 0; s < segments_.count(); ++s) {
    list.next();
    write_segment(segments_.row(s));
  }
  list.end();
}

void PickleSegments::write_segment(const SegmentRow& segment) {
  const SegmentSums sums = sums_of(segment, blocks_);
  encoder_.empty_dict();
  encoder_.mark();
  parts_.word(Word::device);
  encoder_.integer(segment.device == kHost ? std::int64_t{-1} : std::int64_t{segment.device});
  field(Word::address, segment.address);
  field(Word::total_size, segment.size);
  field(Word::allocated_size, sums.allocated);
  field(Word::active_size, sums.active);
  field(Word::requested_size, sums.requested);
  field(Word::stream, tables_.stream(segment.stream).first);
  parts_.word(Word::segment_type);
  parts_.word(segment.is_small ? Word::small : Word::large);
  parts_.word(Word::segment_pool_id);
  parts_.pool(segment.pool);
  parts_.word(Word::is_expandable);
  encoder_.boolean(segment.is_expandable);
  parts_.word(Word::frames);
  parts_.stack(segment.stack);
  parts_.word(Word::blocks);
  PickleList list(encoder_);
  for (std::size_t i = 0; i < segment.block_count; ++i) {
    list.next();
    write_block(segment.first_block + i);
  }
  list.end();
  encoder_.set_items();
}

void PickleSegments::write_block(std::size_t b) {
  encoder_.empty_dict();
  encoder_.mark();
  field(Word::address, blocks_.address[b]);
  field(Word::size, blocks_.size[b]);
  field(Word::requested_size, blocks_.requested[b]);
  parts_.word(Word::state);
  parts_.word(state_of(blocks_.use[b]));
  parts_.word(Word::frames);
  parts_.stack(blocks_.stack[b]);
  encoder_.set_items();
}

}  // namespace strandline::snapshot
