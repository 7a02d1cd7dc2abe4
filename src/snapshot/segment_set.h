// SPDX-License-Identifier: Apache-2.0
// Segments as events make and unmake them: obtained and returned whole, or mapped and unmapped page
// range by page range, where ranges that touch become one segment.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "strandline/snapshot/rows.h"

namespace strandline::snapshot {

/// The span an event is about, as a segment.
SegmentRow segment_of(const EventRow& event);

class SegmentSet {
 public:
  /// One at the same address is replaced.
  void add(const SegmentRow& segment);
  void add_if_absent(const SegmentRow& segment);
  void remove(std::uint8_t device, std::uint64_t address);
  /// Adds the range, joined with the expandable ranges of its stream and pool that it touches.
  void map(const SegmentRow& range);
  /// Cuts the range out of every expandable segment it reaches into.
  void unmap(std::uint8_t device, std::uint64_t address, std::uint64_t size);

  /// By device and address.
  std::vector<SegmentRow> rows() const;

 private:
  using Place = std::pair<std::uint8_t, std::uint64_t>;  // device, address

  std::map<Place, SegmentRow> segments_;
};

}  // namespace strandline::snapshot
