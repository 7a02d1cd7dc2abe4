// SPDX-License-Identifier: Apache-2.0
// A part of each trace, kept while the events stream by:
//
//   before   nothing stays but the open allocs, which go in front of the first event of the range
//   inside   rows of the snapshot
//   after    nothing stays but what undoes it: segment events, and the first event at each address
//
// With these, `rewind_state` makes the segments and blocks of the file's end those of the range's.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snapshot/record_error.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Where an event stands in a pickle.
struct TracePlace {
  std::uint64_t list = 0;    ///< a number of its list, 0 for none; later lists have larger ones
  std::uint64_t device = 0;  ///< how many lists come before its own
  bool is_host = false;
};

struct NumberedEvent {
  std::uint64_t number = 0;  ///< in its trace
  EventRow row;
};

struct RangedTrace {
  enum class State : std::uint8_t { before, inside, after };

  TracePlace place;
  State state = State::before;
  bool wanted = true;
  bool ended = false;
  std::int64_t start_us = 0;  ///< of its first event
  TracePart part;
  RowRange rows;                                          ///< carried, then those in the range
  std::unordered_map<std::uint64_t, NumberedEvent> open;  ///< before: by address
  std::vector<EventRow> later_segments;                   ///< after: events of segments
  std::unordered_map<std::uint64_t, EventRow> first_use;  ///< after: of each address

  bool has_rest() const noexcept { return !later_segments.empty() || !first_use.empty(); }
};

class RangeFilter {
 public:
  RangeFilter(EventColumns& events, const ReadRange& range)
      : events_(events), range_(range), is_on_(!range.is_all()) {}

  bool is_on() const noexcept { return is_on_; }
  bool wants_device(std::uint8_t device) const noexcept {
    return !range_.device || *range_.device == device;
  }

  /// The next event stands there. Throws RecordError where lists take turns.
  void begin_trace(const TracePlace& place);
  /// Whether the next event is kept.
  bool next(std::int64_t time_us);
  /// The event that was not.
  void pass_over(const EventRow& row);
  /// Number of the trace of the last event.
  std::uint64_t trace() const noexcept { return traces_.size() - 1; }

  /// Rows of a trace, which is at its end.
  RowRange rows(std::uint64_t trace);
  void set_device(std::uint64_t trace, std::uint64_t device);
  const std::vector<RangedTrace>& traces() const noexcept { return traces_; }

 private:
  bool begins(const RangedTrace& trace, std::int64_t time_us) const noexcept;
  bool ends(const RangedTrace& trace, std::int64_t time_us) const noexcept;
  void carry(RangedTrace& trace);
  void end(RangedTrace& trace);

  EventColumns& events_;
  ReadRange range_;
  bool is_on_;
  std::vector<RangedTrace> traces_;
};

}  // namespace strandline::snapshot
