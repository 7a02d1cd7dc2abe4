// SPDX-License-Identifier: Apache-2.0
// Undoing events.
#include "snapshot/rewind.h"

#include <algorithm>
#include <map>

#include "snapshot/segment_assembly.h"
#include "snapshot/segment_set.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;

constexpr std::uint64_t kStep = 512;

class Rewind {
 public:
  Rewind(SnapshotFile& file, std::uint8_t device, const RangedTrace& trace)
      : file_(file), device_(device), trace_(trace) {}

  void run() {
    take_state();
    undo_segments();
    undo_blocks();
    std::vector<SegmentRow> segments = segments_.rows();
    fit_blocks(segments);
    std::vector<BlockRow> blocks;
    for (const auto& [address, block] : live_) blocks.push_back(block);
    Snapshot state;
    assemble_segments(state, std::move(segments), std::move(blocks));
    for (std::size_t s = 0; s < state.segments.count(); ++s) {
      copy_segment(state.segments, state.blocks, s, kept_segments_, kept_blocks_);
      kept_unaddressed_.push_back(0);
    }
    file_.snapshot.segments = std::move(kept_segments_);
    file_.snapshot.blocks = std::move(kept_blocks_);
    file_.unaddressed = std::move(kept_unaddressed_);
  }

 private:
  /// Other devices stay as they are.
  void take_state() {
    const Snapshot& snapshot = file_.snapshot;
    for (std::size_t s = 0; s < snapshot.segments.count(); ++s) {
      const SegmentRow segment = snapshot.segments.row(s);
      if (segment.device != device_) {
        copy_segment(snapshot.segments, snapshot.blocks, s, kept_segments_, kept_blocks_);
        kept_unaddressed_.push_back(file_.unaddressed[s]);
        continue;
      }
      segments_.add(segment);
      for (std::uint32_t b = 0; b < segment.block_count; ++b) {
        const BlockRow block = snapshot.blocks.row(segment.first_block + b);
        if (block.use != BlockUse::inactive) live_[block.address] = block;
      }
    }
  }

  void undo_segments() {
    for (auto event = trace_.later_segments.rbegin(); event != trace_.later_segments.rend();
         ++event) {
      SegmentRow segment = segment_of(*event);
      segment.device = device_;
      switch (event->action) {
        case Action::segment_alloc:
          segments_.remove(device_, segment.address);
          break;
        case Action::segment_free:
          segments_.add_if_absent(segment);
          break;
        case Action::segment_map:
          segments_.unmap(device_, segment.address, segment.size);
          break;
        default:
          segments_.map(segment);
      }
    }
  }

  void undo_blocks() {
    for (const auto& [address, event] : trace_.first_use) {
      if (record::begins_block(event.action)) {
        live_.erase(address);
        continue;
      }
      BlockRow& block = live_[address];
      const bool is_same = block.size != 0 && block.use == BlockUse::pending_free &&
                           event.action == Action::free_requested;
      if (!is_same) {
        block = {.address = address,
                 .size = (event.size + kStep - 1) / kStep * kStep,
                 .requested = event.size,
                 .stream = event.stream,
                 .pool = event.pool,
                 .device = device_};
      }
      block.use =
          event.action == Action::free_requested ? BlockUse::allocated : BlockUse::pending_free;
    }
  }

  /// Sizes that were made up may not reach into the next block or out of the segment.
  void fit_blocks(const std::vector<SegmentRow>& segments) {
    auto segment = segments.begin();
    for (auto block = live_.begin(); block != live_.end(); ++block) {
      BlockRow& row = block->second;
      const auto next = std::next(block);
      std::uint64_t room = next == live_.end() ? UINT64_MAX : next->first - row.address;
      while (segment != segments.end() && segment->address + segment->size <= row.address) {
        ++segment;
      }
      if (segment != segments.end() && segment->address <= row.address) {
        room = std::min(room, segment->address + segment->size - row.address);
      }
      row.size = std::min(row.size, room);
    }
  }

  SnapshotFile& file_;
  std::uint8_t device_;
  const RangedTrace& trace_;
  SegmentSet segments_;
  std::map<std::uint64_t, BlockRow> live_;  // by address
  SegmentColumns kept_segments_;
  BlockColumns kept_blocks_;
  std::vector<std::uint8_t> kept_unaddressed_;
};

}  // namespace

void rewind_state(SnapshotFile& file, std::uint8_t device, const RangedTrace& trace) {
  Rewind(file, device, trace).run();
}

void copy_segment(const SegmentColumns& segments, const BlockColumns& blocks, std::size_t s,
                  SegmentColumns& to_segments, BlockColumns& to_blocks) {
  SegmentRow row = segments.row(s);
  const std::uint32_t from = row.first_block;
  row.first_block = static_cast<std::uint32_t>(to_blocks.count());
  for (std::uint32_t b = 0; b < row.block_count; ++b) to_blocks.push_back(blocks.row(from + b));
  to_segments.push_back(row);
}

}  // namespace strandline::snapshot
