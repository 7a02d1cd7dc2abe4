// SPDX-License-Identifier: Apache-2.0
// From parts to a snapshot: events numbered without gaps, and where the file was not closed, the
// state that its events leave.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/lifetimes.h"
#include "snapshot/native_reader.h"
#include "snapshot/native_state.h"
#include "snapshot/segment_assembly.h"
#include "snapshot/state_follower.h"
#include "strandline/core/error.h"

namespace strandline::snapshot::native {
namespace {

/// Numbers of a file with gaps to numbers without: row + first_sequence.
class Numbers {
 public:
  explicit Numbers(const std::vector<EventRun>& runs) : runs_(runs) {}

  std::uint64_t operator()(std::uint64_t sequence) const {
    if (runs_.size() < 2 || sequence < runs_.front().first_sequence) return sequence;
    auto after = std::upper_bound(
        runs_.begin(), runs_.end(), sequence,
        [](std::uint64_t number, const EventRun& run) { return number < run.first_sequence; });
    const EventRun& run = *std::prev(after);
    const bool is_last = after == runs_.end();
    const std::uint64_t inside = sequence - run.first_sequence;
    return runs_.front().first_sequence + run.first_row +
           (is_last ? inside : std::min(inside, run.count));
  }

 private:
  const std::vector<EventRun>& runs_;
};

class Assembly {
 public:
  explicit Assembly(FileParts&& parts)
      : parts_(std::move(parts)), file_(parts_.native.file), snapshot_(file_.snapshot) {}

  NativeFile run() {
    parts_.native.is_recorded =
        parts_.state.fact(Fact::form) == static_cast<std::uint64_t>(Form::recorded);
    take_facts();
    take_file_parts();
    take_phases();
    take_state();
    if (parts_.native.is_recorded) {
      complete_lifetimes(snapshot_);
    } else {
      check_traces();
    }
    return std::move(parts_.native);
  }

 private:
  std::uint64_t next_sequence() const { return parts_.state.fact(Fact::next_sequence); }
  std::uint64_t first_after(std::uint64_t sequence) const {
    const std::uint64_t number = numbers_(sequence);
    return number <= snapshot_.first_sequence ? 0 : number - snapshot_.first_sequence;
  }

  void take_facts() {
    const StateParts& state = parts_.state;
    snapshot_.first_sequence = parts_.runs.empty() ? state.fact(Fact::first_sequence, 1)
                                                   : parts_.runs.front().first_sequence;
    snapshot_.taken_us = static_cast<std::int64_t>(state.fact(Fact::taken_us));
    snapshot_.start_us = static_cast<std::int64_t>(state.fact(Fact::start_us));
    snapshot_.options.max_entries = state.fact(Fact::max_entries);
    snapshot_.options.min_size = state.fact(Fact::min_size);
    const std::uint64_t stacks = state.fact(Fact::stacks);
    if (stacks <= static_cast<std::uint64_t>(record::Stacks::site)) {
      snapshot_.options.stacks = static_cast<record::Stacks>(stacks);
    }
    snapshot_.fault = state.fault;
    snapshot_.counters = state.counters;
    visit_counters(snapshot_.counters,
                   [&](Fact number, std::uint64_t& value) { value = state.fact(number); });
    for (std::size_t m = 0; m < record::kMeasureCount; ++m) {
      snapshot_.peak[m].bytes = state.fact(peak_fact(Fact::peak_bytes, m));
      snapshot_.peak[m].sequence = numbers_(state.fact(peak_fact(Fact::peak_sequence, m)));
      snapshot_.peak[m].time_us =
          static_cast<std::int64_t>(state.fact(peak_fact(Fact::peak_time_us, m)));
      const Fact cached = peak_fact(Fact::peak_cached, m);
      if (state.facts.contains(static_cast<std::uint16_t>(cached))) {
        snapshot_.peak[m].cached = state.fact(cached);
      }
    }
  }

  void take_file_parts() {
    StateParts& state = parts_.state;
    file_.annotations = std::move(state.annotations);
    file_.unknown_keys = std::move(state.unknown_keys);
    file_.settings = std::move(state.settings);
    file_.keys = std::move(state.keys);
    file_.skipped_values = state.fact(Fact::skipped_values);
    // Recorded events lie in the order of their sequence, not trace by trace, and all of them is in
    // their columns: no writer of ours adds such parts to a recorded file, so they are not
    // believed.
    if (parts_.native.is_recorded) {
      file_.extras.clear();
    } else {
      file_.traces = std::move(state.traces);
    }
    file_.host_segments = std::move(state.host_segments);
    file_.host_blocks = std::move(state.host_blocks);
  }

  void take_phases() {
    for (auto& [number, phase] : parts_.phases) {
      phase.start_sequence = numbers_(phase.start_sequence);
      if (phase.end_sequence != UINT64_MAX) phase.end_sequence = numbers_(phase.end_sequence);
      snapshot_.phases.push_back(phase);
    }
    std::stable_sort(
        snapshot_.phases.begin(), snapshot_.phases.end(),
        [](const PhaseRow& a, const PhaseRow& b) { return a.start_sequence < b.start_sequence; });
  }

  BlockColumns renumbered(const BlockColumns& blocks) const {
    if (parts_.runs.size() < 2) return blocks;
    BlockColumns result;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      BlockRow row = blocks.row(b);
      if (row.alloc_sequence != 0) row.alloc_sequence = numbers_(row.alloc_sequence);
      result.push_back(row);
    }
    return result;
  }

  void take_state() {
    StateParts& state = parts_.state;
    const std::uint64_t after = first_after(next_sequence());
    if (after < snapshot_.events.count()) return follow(after);
    for (std::size_t m = 0; m < record::kMeasureCount; ++m) {
      snapshot_.peak_set[m] = renumbered(state.peak_set[m]);
    }
    snapshot_.segments = std::move(state.segments);
    snapshot_.blocks = renumbered(state.blocks);
    file_.unaddressed = std::move(state.unaddressed);
    add_cached();
  }

  /// Buffers in a cache that no provider listed, where events tell of them.
  void add_cached() {
    if (!parts_.native.is_recorded || snapshot_.counters.dropped_below_min_size != 0) return;
    std::vector<SegmentRow> segments;
    for (std::size_t s = 0; s < snapshot_.segments.count(); ++s) {
      segments.push_back(snapshot_.segments.row(s));
    }
    const std::vector<SegmentRow> cached = cached_by_events(snapshot_.events, segments);
    if (cached.empty()) return;
    segments.insert(segments.end(), cached.begin(), cached.end());
    std::vector<BlockRow> blocks;
    for (std::size_t b = 0; b < snapshot_.blocks.count(); ++b) {
      const BlockRow row = snapshot_.blocks.row(b);
      if (row.use != record::BlockUse::inactive) blocks.push_back(row);
    }
    snapshot_.segments = {};
    snapshot_.blocks = {};
    assemble_segments(snapshot_, std::move(segments), std::move(blocks));
  }

  /// The state is older than the events from row `after` on. What only the recorder knew of the
  /// end (peak sets, counters) is not told.
  void follow(std::uint64_t after) {
    StateFollower follower;
    follower.begin_at(parts_.state.segments, renumbered(parts_.state.blocks));
    snapshot_.counters = {};
    for (std::size_t i = 0; i < snapshot_.events.count(); ++i) {
      const EventRow row = snapshot_.events.row(i);
      const auto action = static_cast<std::size_t>(row.action);
      snapshot_.counters.events[action] += 1;
      snapshot_.counters.bytes[action] += row.size;
      snapshot_.taken_us = std::max(snapshot_.taken_us, row.time_us);
      if (i >= after) follower.follow(row, snapshot_.first_sequence + i);
    }
    snapshot_.counters.sink_events_missed = parts_.native.missed_events;
    follower.assemble(snapshot_);
    file_.unaddressed.assign(snapshot_.segments.count(), 0);
    snapshot_.peak = {};
    for (PhaseRow& phase : snapshot_.phases) {
      if (phase.open) phase.end_us = snapshot_.taken_us;
    }
    follow_traces();
  }

  /// Without the state of a file in the form of files nobody has said which device's events lie
  /// where: they stand device by device.
  void follow_traces() {
    if (parts_.native.is_recorded) return;
    file_.traces.clear();
    std::size_t first = 0;
    const EventColumns& events = snapshot_.events;
    for (std::size_t i = 1; i <= events.count(); ++i) {
      if (i < events.count() && events.device[i] == events.device[first]) continue;
      const std::size_t device = events.device[first];
      if (device >= file_.traces.size()) {
        file_.traces.resize(device + 1);
        file_.traces[device] = {first, i - first};
      }
      first = i;
    }
  }

  void check_traces() const {
    std::vector<RowRange> sorted = file_.traces;
    std::sort(sorted.begin(), sorted.end(),
              [](const RowRange& a, const RowRange& b) { return a.first < b.first; });
    std::uint64_t at = 0;
    for (const RowRange& range : sorted) {
      if (range.count == 0) continue;
      const std::uint64_t left = snapshot_.events.count();
      if (range.first >= at && range.first <= left && range.count <= left - range.first) {
        at = range.end();
        continue;
      }
      throw FormatError(error_message("read_snapshot", "a trace",
                                      fmt::format("events {} + {}", range.first, range.count),
                                      fmt::format("a part of its own of the {} events", left)),
                        0);
    }
    if (sorted.size() <= 255) return;
    throw FormatError(error_message("read_snapshot", "traces", fmt::format("{}", sorted.size()),
                                    "one a device, at most 255"),
                      0);
  }

  FileParts parts_;
  SnapshotFile& file_;
  Snapshot& snapshot_;
  Numbers numbers_{parts_.runs};
};

}  // namespace

NativeFile assemble(FileParts&& parts) {
  return Assembly(std::move(parts)).run();
}

}  // namespace strandline::snapshot::native
