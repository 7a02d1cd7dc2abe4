// SPDX-License-Identifier: Apache-2.0
// A cut becomes a snapshot; look-ups and equations of a snapshot.
#include "strandline/snapshot/snapshot.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "snapshot/cut_reader.h"
#include "snapshot/lifetimes.h"
#include "snapshot/resolver.h"
#include "snapshot/segment_assembly.h"

namespace strandline::snapshot {
namespace {

using record::BlockUse;

class CutReader {
 public:
  CutReader(record::Cut& cut, Resolver& resolver, Snapshot& snapshot)
      : cut_(cut), snapshot_(snapshot), resolver_(resolver) {}

  void read() {
    read_facts();
    read_events();
    read_phases();
    for (std::size_t measure = 0; measure < record::kMeasureCount; ++measure) {
      for (const record::LiveBlock& block : cut_.peak_set[measure]) {
        snapshot_.peak_set[measure].push_back(resolver_.block(block, cut_.clock));
      }
    }
    read_state();
    complete_lifetimes(snapshot_);
  }

 private:
  void read_facts() {
    snapshot_.first_sequence = cut_.first_sequence;
    snapshot_.counters = cut_.counters;
    snapshot_.options = cut_.options;
    snapshot_.fault = cut_.fault;
    snapshot_.taken_us = time_us(cut_.ticks);
    snapshot_.start_us = time_us(cut_.start_ticks);
    for (std::size_t measure = 0; measure < record::kMeasureCount; ++measure) {
      const record::Peak& peak = cut_.peak[measure];
      snapshot_.peak[measure] = {.bytes = peak.bytes,
                                 .sequence = peak.sequence,
                                 .time_us = time_us(peak.ticks),
                                 .cached = peak.cached};
    }
  }

  void read_events() {
    snapshot_.events.reserve(cut_.events.size());
    for (const record::Event& event : cut_.events) {
      snapshot_.events.push_back(resolver_.event(event, time_us(event.ticks)));
    }
  }

  void read_phases() {
    for (const record::Phase& phase : cut_.phases) {
      snapshot_.phases.push_back({
          .name = snapshot_.strings.intern(phase.name),
          .number = phase.number,
          .parent = phase.parent,
          .thread = phase.thread,
          .open = phase.open,
          .start_us = time_us(phase.start_ticks),
          .end_us = time_us(phase.open ? cut_.ticks : phase.end_ticks),
          .start_sequence = phase.start_sequence,
          .end_sequence = phase.open ? UINT64_MAX : phase.end_sequence,
          .start_active = phase.start_active,
          .end_active = phase.open ? cut_.active[0] : phase.end_active,
          .peak_active = phase.peak_active,
      });
    }
    std::stable_sort(
        snapshot_.phases.begin(), snapshot_.phases.end(),
        [](const PhaseRow& a, const PhaseRow& b) { return a.start_sequence < b.start_sequence; });
  }

  void read_state() {
    std::vector<SegmentRow> segments;
    std::vector<BlockRow> blocks;
    for (const record::SegmentState& state : cut_.segments) read_segment(state, segments, blocks);
    // Live whole buffers; one that a provider's block stands for is skipped, the provider's came
    // first.
    for (const record::LiveBlock& live : cut_.live) {
      blocks.push_back(resolver_.block(live, cut_.clock));
    }
    if (cut_.counters.dropped_below_min_size == 0) add_cached(segments, blocks);
    assemble_segments(snapshot_, std::move(segments), std::move(blocks));
  }

  /// Cached buffers that no provider lists.
  void add_cached(std::vector<SegmentRow>& segments, const std::vector<BlockRow>& blocks) {
    std::vector<SegmentRow> known = segments;
    for (const BlockRow& block : blocks) {
      known.push_back({.address = block.address, .size = block.size, .device = block.device});
    }
    const std::vector<SegmentRow> cached = cached_by_events(snapshot_.events, known);
    segments.insert(segments.end(), cached.begin(), cached.end());
  }

  void read_segment(const record::SegmentState& state, std::vector<SegmentRow>& segments,
                    std::vector<BlockRow>& blocks) {
    const SegmentRow segment{
        .address = state.address,
        .size = state.size,
        .stack = resolver_.stack(state.traceback).calling,
        .stream = resolver_.stream(state.stream),
        .pool = resolver_.pool(state.pool),
        .device = state.device,
        .is_small = state.is_small,
        .is_expandable = state.is_expandable,
    };
    segments.push_back(segment);
    for (const record::BlockState& block : state.blocks) {
      blocks.push_back(read_block(block, segment));
    }
  }

  /// A provider's block, with what the recorder knows of the live one at its address.
  BlockRow read_block(const record::BlockState& state, const SegmentRow& segment) {
    BlockRow row;
    const record::LiveBlock* live = find_live(segment.device, state.address);
    if (live != nullptr && state.use != BlockUse::inactive) {
      row = resolver_.block(*live, cut_.clock);
    } else {
      const ResolvedStack stack = resolver_.stack(state.traceback);
      row.stack = stack.calling;
      row.forward = stack.forward;
      row.stream = segment.stream;
      row.pool = segment.pool;
      row.device = segment.device;
    }
    row.address = state.address;
    row.size = state.size;
    row.requested = state.requested;
    row.use = state.use;
    return row;
  }

  const record::LiveBlock* find_live(std::uint8_t device, std::uint64_t address) const {
    auto found = std::lower_bound(
        cut_.live.begin(), cut_.live.end(), address,
        [](const record::LiveBlock& block, std::uint64_t at) { return block.address < at; });
    for (; found != cut_.live.end() && found->address == address; ++found) {
      if (found->device == device) return &*found;
    }
    return nullptr;
  }

  std::int64_t time_us(std::uint64_t ticks) const {
    return ticks == 0 ? 0 : cut_.clock.unix_us(ticks);
  }

  record::Cut& cut_;
  Snapshot& snapshot_;
  Resolver& resolver_;
};

template <typename IdType>
std::pair<std::uint64_t, std::uint64_t> handle_at(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& column, IdType id) {
  if (!id || id.value > column.size()) return {};
  return column[id.value - 1];
}

std::string validate_segment(const Snapshot& snapshot, std::size_t s) {
  const SegmentRow segment = snapshot.segments.row(s);
  std::uint64_t at = segment.address;
  for (std::size_t i = 0; i < segment.block_count; ++i) {
    const std::size_t b = segment.first_block + i;
    if (snapshot.blocks.address[b] != at) {
      return fmt::format("segment {:#x}: block at {:#x}, expected {:#x}\n", segment.address,
                         snapshot.blocks.address[b], at);
    }
    at += snapshot.blocks.size[b];
  }
  if (at - segment.address == segment.size) return {};
  return fmt::format("segment {:#x}: blocks add up to {}, size is {}\n", segment.address,
                     at - segment.address, segment.size);
}

}  // namespace

const record::Layout& Snapshot::layout(LayoutId id) const noexcept {
  static const record::Layout none;
  return id && id.value <= layouts.size() ? layouts[id.value - 1] : none;
}

std::pair<std::uint64_t, std::uint64_t> Snapshot::stream(StreamId id) const noexcept {
  return handle_at(streams, id);
}

std::pair<std::uint64_t, std::uint64_t> Snapshot::pool(PoolId id) const noexcept {
  return handle_at(pools, id);
}

std::size_t Snapshot::device_count() const noexcept {
  std::size_t largest = 0;
  for (const std::uint8_t device : events.device) largest = std::max<std::size_t>(largest, device);
  for (const std::uint8_t device : segments.device) {
    largest = std::max<std::size_t>(largest, device);
  }
  return largest + 1;
}

std::string Snapshot::validate() const {
  std::string broken;
  std::size_t counted = 0;
  for (std::size_t s = 0; s < segments.count(); ++s) {
    broken += validate_segment(*this, s);
    counted += segments.block_count[s];
  }
  if (counted != blocks.count()) {
    broken += fmt::format("segments hold {} blocks, there are {}\n", counted, blocks.count());
  }
  return broken;
}

Snapshot take_snapshot(record::Recorder& recorder) {
  record::Cut cut = recorder.cut();
  return make_snapshot(std::move(cut), recorder.tables());
}

Snapshot make_snapshot(record::Cut&& cut, const record::Tables& tables) {
  Snapshot snapshot;
  Resolver resolver(tables, snapshot);
  read_cut(cut, resolver, snapshot);
  return snapshot;
}

void read_cut(record::Cut& cut, Resolver& resolver, Snapshot& snapshot) {
  CutReader(cut, resolver, snapshot).read();
}

}  // namespace strandline::snapshot
