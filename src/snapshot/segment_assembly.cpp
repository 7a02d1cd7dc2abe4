// SPDX-License-Identifier: Apache-2.0
// Segments from spans and blocks; cached buffers from events.
#include "snapshot/segment_assembly.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;

/// Whether a span of `size` bytes at `address` reaches into one that starts at `other`.
bool overlaps(std::uint64_t address, std::uint64_t size, std::uint64_t other,
              std::uint64_t other_size) {
  if (address == other) return true;
  return address < other ? size > other - address : other_size > address - other;
}

template <typename Row>
void sort_without_overlaps(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.device, a.address) < std::tie(b.device, b.address);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool covered =
        kept > 0 && rows[kept - 1].device == rows[i].device &&
        overlaps(rows[kept - 1].address, rows[kept - 1].size, rows[i].address, rows[i].size);
    if (!covered) rows[kept++] = rows[i];
  }
  rows.resize(kept);
}

bool contains(const SegmentRow& segment, const BlockRow& block) {
  return block.device == segment.device && block.address >= segment.address &&
         block.address - segment.address <= segment.size &&
         block.size <= segment.size - (block.address - segment.address);
}

SegmentRow segment_of(const BlockRow& block) {
  return {.address = block.address,
          .size = block.size,
          .stack = block.stack,
          .stream = block.stream,
          .pool = block.pool,
          .device = block.device};
}

/// Gives every block that lies in no segment one of its own; both stay sorted.
void add_missing_segments(std::vector<SegmentRow>& segments, const std::vector<BlockRow>& blocks) {
  std::vector<SegmentRow> missing;
  auto segment = segments.begin();
  for (const BlockRow& block : blocks) {
    while (segment != segments.end() &&
           std::tie(segment->device, segment->address) <= std::tie(block.device, block.address)) {
      ++segment;
    }
    const bool inside = segment != segments.begin() && contains(*std::prev(segment), block);
    if (!inside) missing.push_back(segment_of(block));
  }
  // Named first, a block's own segment wins over one that cannot hold the block.
  missing.insert(missing.end(), segments.begin(), segments.end());
  segments = std::move(missing);
  sort_without_overlaps(segments);
}

class Filler {
 public:
  explicit Filler(Snapshot& snapshot) : snapshot_(snapshot) {}

  /// Adds `segment` with those of the sorted blocks, from `next` on, that lie in it.
  void add(SegmentRow segment, const std::vector<BlockRow>& blocks, std::size_t& next) {
    const std::size_t first = snapshot_.blocks.count();
    std::uint64_t at = segment.address;
    for (; next < blocks.size() && contains(segment, blocks[next]); ++next) {
      add_gap(segment, at, blocks[next].address);
      snapshot_.blocks.push_back(blocks[next]);
      at = blocks[next].address + blocks[next].size;
    }
    add_gap(segment, at, segment.address + segment.size);
    segment.first_block = static_cast<std::uint32_t>(first);
    segment.block_count = static_cast<std::uint32_t>(snapshot_.blocks.count() - first);
    snapshot_.segments.push_back(segment);
  }

 private:
  void add_gap(const SegmentRow& segment, std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    snapshot_.blocks.push_back({.address = begin,
                                .size = end - begin,
                                .stream = segment.stream,
                                .pool = segment.pool,
                                .device = segment.device});
  }

  Snapshot& snapshot_;
};

}  // namespace

void assemble_segments(Snapshot& snapshot, std::vector<SegmentRow> segments,
                       std::vector<BlockRow> blocks) {
  sort_without_overlaps(segments);
  sort_without_overlaps(blocks);
  add_missing_segments(segments, blocks);
  Filler filler(snapshot);
  std::size_t next = 0;
  for (const SegmentRow& segment : segments) {
    // A block that no segment holds whole (its own lost against an overlapping one) is left out.
    while (next < blocks.size() && std::tie(blocks[next].device, blocks[next].address) <
                                       std::tie(segment.device, segment.address)) {
      ++next;
    }
    filler.add(segment, blocks, next);
  }
}

std::vector<SegmentRow> cached_by_events(const EventColumns& events,
                                         const std::vector<SegmentRow>& known) {
  FlatMap<std::uint32_t> cached;  // (device, address) -> event that freed it, plus one
  for (std::size_t i = 0; i < events.count(); ++i) {
    const Action action = events.action[i];
    if (!record::is_whole_buffer(action)) continue;
    const std::uint64_t key =
        events.address[i] ^ (static_cast<std::uint64_t>(events.device[i]) << 56);
    if (key == 0) continue;
    if (action == Action::free_to_cache) {
      cached[key] = static_cast<std::uint32_t>(i + 1);
    } else {
      cached.erase(key);
    }
  }
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::uint64_t> taken;
  for (const SegmentRow& row : known) taken.emplace(std::pair(row.device, row.address), row.size);

  std::vector<SegmentRow> segments;
  cached.for_each([&](std::uint64_t, std::uint32_t number) {
    const EventRow event = events.row(number - 1);
    const auto after = taken.upper_bound({event.device, event.address});
    const auto reaches = [&](const auto& span) {
      return span.first.first == event.device &&
             overlaps(span.first.second, span.second, event.address, event.size);
    };
    if (after != taken.end() && reaches(*after)) return;
    if (after != taken.begin() && reaches(*std::prev(after))) return;
    segments.push_back({.address = event.address,
                        .size = event.size,
                        .stream = event.stream,
                        .pool = event.pool,
                        .device = event.device});
  });
  return segments;
}

}  // namespace strandline::snapshot
