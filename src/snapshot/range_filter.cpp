// SPDX-License-Identifier: Apache-2.0
// Which events stay.
#include "snapshot/range_filter.h"

#include <algorithm>

namespace strandline::snapshot {
namespace {

using record::Action;
using State = RangedTrace::State;

bool is_of_segment(Action action) {
  return action == Action::segment_alloc || action == Action::segment_free ||
         action == Action::segment_map || action == Action::segment_unmap;
}

bool has_come(const TimeBound& bound, const RangedTrace& trace, std::int64_t time_us) {
  // Times of a hostile file may be anything.
  const auto at = static_cast<std::uint64_t>(bound.us) +
                  (bound.since_start ? static_cast<std::uint64_t>(trace.start_us) : 0);
  return time_us >= static_cast<std::int64_t>(at);
}

}  // namespace

void RangeFilter::begin_trace(const TracePlace& place) {
  if (!traces_.empty()) {
    RangedTrace& last = traces_.back();
    if (last.place.list == place.list) return;
    if (place.list < last.place.list) {
      throw RecordError{"a list of events", "events of two in turn", "one after the other"};
    }
    end(last);
  }
  RangedTrace trace;
  trace.place = place;
  trace.wanted =
      place.list != 0 && (place.is_host || !range_.device || *range_.device == place.device);
  traces_.push_back(std::move(trace));
}

bool RangeFilter::begins(const RangedTrace& trace, std::int64_t time_us) const noexcept {
  const bool by_event =
      trace.place.is_host || !range_.first_event || trace.part.in_file >= *range_.first_event;
  return by_event && (!range_.from || has_come(*range_.from, trace, time_us));
}

bool RangeFilter::ends(const RangedTrace& trace, std::int64_t time_us) const noexcept {
  const bool by_event =
      !trace.place.is_host && range_.end_event && trace.part.in_file >= *range_.end_event;
  return by_event || (range_.until && has_come(*range_.until, trace, time_us));
}

bool RangeFilter::next(std::int64_t time_us) {
  RangedTrace& trace = traces_.back();
  if (trace.part.in_file == 0) trace.start_us = time_us;
  if (trace.wanted && trace.state == State::before && begins(trace, time_us)) carry(trace);
  if (trace.state == State::inside && ends(trace, time_us)) trace.state = State::after;
  ++trace.part.in_file;
  return trace.state == State::inside;
}

/// The range begins here: what is open goes in front, in the order of its allocs.
void RangeFilter::carry(RangedTrace& trace) {
  std::vector<NumberedEvent> open;
  for (const auto& [address, event] : trace.open) open.push_back(event);
  std::sort(open.begin(), open.end(),
            [](const NumberedEvent& a, const NumberedEvent& b) { return a.number < b.number; });
  trace.open.clear();
  trace.state = State::inside;
  trace.rows.first = events_.count();
  trace.part.carried = open.size();
  trace.part.first_event = trace.part.in_file;
  for (const NumberedEvent& event : open) events_.push_back(event.row);
}

void RangeFilter::end(RangedTrace& trace) {
  if (trace.ended) return;
  trace.ended = true;
  if (!trace.wanted) return;
  if (trace.state == State::before) carry(trace);
  trace.rows.count = events_.count() - trace.rows.first;
}

void RangeFilter::pass_over(const EventRow& row) {
  RangedTrace& trace = traces_.back();
  if (!trace.wanted) return;
  const bool begins_block = record::begins_block(row.action);
  const bool ends_block = record::ends_block(row.action);
  if (trace.state == State::after) {
    if (is_of_segment(row.action)) trace.later_segments.push_back(row);
    if (begins_block || ends_block || row.action == Action::free_requested) {
      trace.first_use.try_emplace(row.address, row);
    }
    return;
  }
  if (begins_block) trace.open[row.address] = {.number = trace.part.in_file, .row = row};
  if (ends_block) trace.open.erase(row.address);
  if (row.action == Action::annotate && row.label) {
    if (const auto found = trace.open.find(row.address); found != trace.open.end()) {
      found->second.row.label = row.label;
    }
  }
}

RowRange RangeFilter::rows(std::uint64_t trace) {
  // Only the last trace can have its end still to come.
  RangedTrace& asked = traces_[static_cast<std::size_t>(trace)];
  end(asked);
  return asked.rows;
}

void RangeFilter::set_device(std::uint64_t trace, std::uint64_t device) {
  traces_[static_cast<std::size_t>(trace)].place.device = device;
}

}  // namespace strandline::snapshot
