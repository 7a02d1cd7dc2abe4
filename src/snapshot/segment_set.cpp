// SPDX-License-Identifier: Apache-2.0
// Mapping joins, unmapping cuts.
#include "snapshot/segment_set.h"

#include <iterator>

namespace strandline::snapshot {

SegmentRow segment_of(const EventRow& event) {
  const bool is_range =
      event.action == record::Action::segment_map || event.action == record::Action::segment_unmap;
  return {.address = event.address,
          .size = event.size,
          .stack = event.stack,
          .stream = event.stream,
          .pool = event.pool,
          .device = event.device,
          .is_expandable = is_range};
}

void SegmentSet::add(const SegmentRow& segment) {
  segments_[Place(segment.device, segment.address)] = segment;
}

void SegmentSet::add_if_absent(const SegmentRow& segment) {
  segments_.try_emplace(Place(segment.device, segment.address), segment);
}

void SegmentSet::remove(std::uint8_t device, std::uint64_t address) {
  segments_.erase(Place(device, address));
}

void SegmentSet::map(const SegmentRow& range) {
  SegmentRow joined = range;
  const auto joins = [&](const SegmentRow& other) {
    return other.is_expandable && other.device == joined.device && other.stream == joined.stream &&
           other.pool == joined.pool;
  };
  const auto next = segments_.lower_bound(Place(range.device, range.address));
  if (next != segments_.begin()) {
    const auto previous = std::prev(next);
    const SegmentRow& before = previous->second;
    if (joins(before) && before.address + before.size == joined.address) {
      joined.address = before.address;
      joined.size += before.size;
      segments_.erase(previous);
    }
  }
  if (next != segments_.end() && joins(next->second) &&
      next->second.address == joined.address + joined.size) {
    joined.size += next->second.size;
    segments_.erase(next);
  }
  add(joined);
}

void SegmentSet::unmap(std::uint8_t device, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = address + size;
  auto segment = segments_.lower_bound(Place(device, address));
  if (segment != segments_.begin()) --segment;
  while (segment != segments_.end() && segment->first < Place(device, end)) {
    const SegmentRow row = segment->second;
    const std::uint64_t row_end = row.address + row.size;
    const bool reaches = row.device == device && row.is_expandable && row_end > address;
    segment = reaches ? segments_.erase(segment) : std::next(segment);
    if (!reaches) continue;
    SegmentRow rest = row;
    if (row.address < address) {
      rest.size = address - row.address;
      add(rest);
    }
    if (row_end > end) {
      rest.address = end;
      rest.size = row_end - end;
      add(rest);
    }
  }
}

std::vector<SegmentRow> SegmentSet::rows() const {
  std::vector<SegmentRow> rows;
  for (const auto& [place, segment] : segments_) rows.push_back(segment);
  return rows;
}

}  // namespace strandline::snapshot
