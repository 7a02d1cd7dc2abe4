// SPDX-License-Identifier: Apache-2.0
// Events of a range, and the state the replay has after them.
#include "strandline/snapshot/slice.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "snapshot/file_links.h"
#include "snapshot/segment_assembly.h"
#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

template <typename Number>
void require_order(const char* what, std::optional<Number> first, std::optional<Number> end) {
  if (!first || !end || *first <= *end) return;
  throw InvalidArgument(error_message("make_slice", what, fmt::format("{}:{}", *first, *end),
                                      "an end that is not before the start"));
}

/// The first row of a trace at or after a time; rows are in order of time, more or less.
std::uint64_t row_at(const EventColumns& events, RowRange trace, std::int64_t time_us) {
  std::uint64_t low = trace.first;
  std::uint64_t high = trace.end();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (events.time_us[static_cast<std::size_t>(middle)] < time_us) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

class Slicer {
 public:
  Slicer(SnapshotFile file, const SliceRange& range) : whole_(std::move(file)), range_(range) {}

  Slice run() {
    slice_.host_events_left = whole_.host_events.count();
    slice_.host_segments_left = whole_.host_segments.count();
    for (const std::uint8_t device : devices()) keep_device(device);
    SnapshotFile& part = slice_.file;
    keep_annotations();
    part.keys = whole_.keys;
    part.settings = whole_.settings;
    part.unknown_keys = std::move(whole_.unknown_keys);
    part.skipped_values = whole_.skipped_values;
    take_tables();
    assemble_segments(part.snapshot, std::move(segments_), std::move(blocks_));
    part.unaddressed.assign(part.snapshot.segments.count(), 0);
    link_blocks(part);
    return std::move(slice_);
  }

 private:
  std::set<std::uint8_t> devices() const {
    std::set<std::uint8_t> found;
    for (std::size_t d = 0; d < whole_.traces.size(); ++d) {
      if (whole_.traces[d].count > 0) found.insert(static_cast<std::uint8_t>(d));
    }
    const SegmentColumns& segments = whole_.snapshot.segments;
    for (std::size_t s = 0; s < segments.count(); ++s) found.insert(segments.device[s]);
    if (range_.device) {
      const bool known = found.count(*range_.device) != 0;
      found.clear();
      if (known) found.insert(*range_.device);
    }
    return found;
  }

  RowRange rows_of(std::uint8_t device) const {
    if (device >= whole_.traces.size()) return {};
    const RowRange trace = whole_.traces[device];
    std::uint64_t first = std::min(range_.first_event.value_or(0), trace.count);
    std::uint64_t end = std::min(range_.end_event.value_or(trace.count), trace.count);
    const EventColumns& events = whole_.snapshot.events;
    if (range_.first_us) {
      first = std::max(first, row_at(events, trace, *range_.first_us) - trace.first);
    }
    if (range_.end_us) end = std::min(end, row_at(events, trace, *range_.end_us) - trace.first);
    return {first, end < first ? 0 : end - first};
  }

  void keep_device(std::uint8_t device) {
    const RowRange kept = rows_of(device);
    StateReplay replay(whole_, device);
    replay.advance_to(kept.end());
    for (const auto& [address, segment] : replay.segments()) {
      segments_.push_back({.address = address,
                           .size = segment.size,
                           .stack = segment.stack,
                           .stream = segment.place.stream,
                           .pool = segment.place.pool,
                           .device = device,
                           .is_small = segment.place.is_small,
                           .is_expandable = segment.is_expandable});
    }
    for (const auto& [address, block] : replay.blocks()) {
      BlockRow row = replay.row_of(address, block);
      row.alloc_sequence = 0;  // those that begin in the part are linked anew
      row.alloc_time_us = 0;
      row.action = record::Action::none;
      blocks_.push_back(row);
    }
    keep_events(device, replay.trace(), kept);
    slice_.devices.push_back({.device = device,
                              .kept = kept,
                              .of_events = replay.trace().count,
                              .facts = replay.facts()});
  }

  void keep_events(std::uint8_t device, RowRange trace, RowRange kept) {
    SnapshotFile& part = slice_.file;
    if (part.traces.size() <= device) part.traces.resize(device + std::size_t{1});
    const std::uint64_t first = part.snapshot.events.count();
    const std::uint64_t from = trace.first + kept.first;
    part.traces[device] = {first, kept.count};
    for (std::uint64_t i = from; i < from + kept.count; ++i) {
      part.snapshot.events.push_back(whole_.snapshot.events.row(static_cast<std::size_t>(i)));
    }
    for (const EventExtra& extra : whole_.extras) {
      if (extra.event < from || extra.event >= from + kept.count) continue;
      part.extras.push_back({extra.event - from + first, extra.key, extra.value});
    }
  }

  /// Those that are open at some moment from the first event kept to the last.
  void keep_annotations() {
    const EventColumns& events = slice_.file.snapshot.events;
    std::int64_t first_us = INT64_MAX;
    std::int64_t last_us = INT64_MIN;
    for (std::size_t i = 0; i < events.count(); ++i) {
      first_us = std::min<std::int64_t>(first_us, events.time_us[i]);
      last_us = std::max<std::int64_t>(last_us, events.time_us[i]);
    }
    const std::vector<Annotation>& marks = whole_.annotations;
    std::vector<std::size_t> order(marks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return marks[a].time_us < marks[b].time_us;
    });
    std::vector<bool> keep(marks.size());
    std::map<std::pair<std::int32_t, StringId>, std::vector<std::size_t>> open;
    for (const std::size_t i : order) {
      const Annotation& mark = marks[i];
      keep[i] = mark.time_us <= last_us;
      if (mark.stage == Stage::start) {
        open[{mark.device, mark.name}].push_back(i);
        continue;
      }
      if (mark.time_us < first_us) keep[i] = false;
      auto& starts = open[{mark.device, mark.name}];
      if (mark.stage != Stage::end || starts.empty()) continue;
      if (mark.time_us < first_us) keep[starts.back()] = false;
      starts.pop_back();
    }
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (keep[i] && is_of_kept_device(marks[i].device)) {
        slice_.file.annotations.push_back(marks[i]);
      }
    }
  }

  bool is_of_kept_device(std::int32_t device) const {
    return !range_.device || device == *range_.device;
  }

  void take_tables() {
    Snapshot& part = slice_.file.snapshot;
    Snapshot& whole = whole_.snapshot;
    part.strings = std::move(whole.strings);
    part.frames = std::move(whole.frames);
    part.stacks = std::move(whole.stacks);
    part.layouts = std::move(whole.layouts);
    part.streams = std::move(whole.streams);
    part.pools = std::move(whole.pools);
    part.options = whole.options;
  }

  SnapshotFile whole_;
  const SliceRange& range_;
  Slice slice_;
  std::vector<SegmentRow> segments_;
  std::vector<BlockRow> blocks_;
};

}  // namespace

Slice make_slice(SnapshotFile file, const SliceRange& range) {
  require_order("events", range.first_event, range.end_event);
  require_order("times", range.first_us, range.end_us);
  return Slicer(std::move(file), range).run();
}

}  // namespace strandline::snapshot
