// SPDX-License-Identifier: Apache-2.0
// One walk over segments, blocks and holes, all by address.
#include "snapshot/segment_use.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace strandline::snapshot {

std::optional<Location> line_of(UserFrames& frames, StackId stack) {
  const FrameId frame = frames.line_of(stack);
  if (!frame) return std::nullopt;
  return frames.location(frame);
}

void PinSums::add(const BlockRow& block) {
  const StackId told = block.forward ? block.forward : block.stack;
  sums_[frames_->line_of(told)] +=
      Held{.bytes = block.size, .requested = block.requested, .blocks = 1};
}

std::vector<Pin> PinSums::pins() const {
  std::vector<Pin> pins;
  for (const auto& [frame, held] : sums_) {
    pins.push_back(
        {.line = frame ? std::optional(frames_->location(frame)) : std::nullopt, .held = held});
  }
  const auto key = [](const Pin& pin) {
    const Location place = pin.line.value_or(Location{});
    return std::tuple(place.file, place.line, place.function);
  };
  std::sort(pins.begin(), pins.end(), [&](const Pin& a, const Pin& b) {
    if (a.held.bytes != b.held.bytes) return a.held.bytes > b.held.bytes;
    return key(a) < key(b);
  });
  return pins;
}

Place resolved(const Snapshot& snapshot, const PlaceClass& place) {
  return {.stream = snapshot.stream(place.stream).first,
          .pool = snapshot.pool(place.pool),
          .is_small = place.is_small};
}

std::string place_text(const Place& place) {
  std::string text = place.is_small ? "small" : "large";
  text += fmt::format(", stream {}", place.stream);
  if (place.pool != std::pair<std::uint64_t, std::uint64_t>{0, 0}) {
    text += fmt::format(", pool {}:{}", place.pool.first, place.pool.second);
  }
  return text;
}

std::vector<SegmentUse> segments_in_use(const SnapshotFile& file, const StateReplay& replay,
                                        UserFrames& frames, const AnswerOptions& options) {
  std::vector<SegmentUse> uses;
  auto hole = replay.holes().begin();
  auto block = replay.blocks().begin();
  for (const auto& [address, segment] : replay.segments()) {
    SegmentUse use{.address = address,
                   .size = segment.size,
                   .place = resolved(file.snapshot, segment.place),
                   .is_expandable = segment.is_expandable};
    const std::uint64_t end = address + segment.size;
    PinSums pins(frames);
    while (block != replay.blocks().end() && block->first < address) ++block;
    for (; block != replay.blocks().end() && block->first < end; ++block) {
      if (!block->second.inside) continue;
      use.live += block->second.size;
      use.requested += block->second.requested;
      ++use.blocks;
      const BlockRow row = replay.row_of(block->first, block->second);
      if (options.counts(row)) pins.add(row);
    }
    while (hole != replay.holes().end() && hole->first < address) ++hole;
    for (; hole != replay.holes().end() && hole->first < end; ++hole) {
      use.free += hole->second;
      ++use.holes;
      use.largest_hole = std::max(use.largest_hole, hole->second);
    }
    use.pins = pins.pins();
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace strandline::snapshot
