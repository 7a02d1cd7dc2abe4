// SPDX-License-Identifier: Apache-2.0
// Sums over the peak set.
#include "strandline/snapshot/peak_report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "snapshot/call_tree.h"
#include "snapshot/measures.h"
#include "snapshot/phase_index.h"
#include "snapshot/report_notes.h"
#include "snapshot/source_lines.h"
#include "snapshot/user_frames.h"
#include "strandline/snapshot/timeline.h"

namespace strandline::snapshot {
namespace {

/// Largest first; equal ones by what `key` gives, so that the order never depends on a table's.
template <typename Entry, typename Key>
void sort_by_bytes(std::vector<Entry>& entries, Key&& key) {
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return std::pair(b.held.bytes, key(a)) < std::pair(a.held.bytes, key(b));
  });
}

std::vector<HeldName> names_of(const std::map<std::string, Held>& sums) {
  std::vector<HeldName> names;
  names.reserve(sums.size());
  for (const auto& [name, held] : sums) names.push_back({.name = name, .held = held, .parts = {}});
  sort_by_bytes(names, [](const HeldName& entry) { return entry.name; });
  return names;
}

/// "optimiser.m.w" -> "optimiser"; canonical JSON stays whole.
std::string label_root(const std::string& label) {
  return label.starts_with('{') ? label : label.substr(0, label.find('.'));
}

std::vector<HeldName> labels_by_root(const std::map<std::string, Held>& labels) {
  std::map<std::string, Held> roots;
  std::map<std::string, std::map<std::string, Held>> parts;
  for (const auto& [label, held] : labels) {
    const std::string root = label_root(label);
    roots[root] += held;
    if (label != root) parts[root][label] += held;
  }
  std::vector<HeldName> names = names_of(roots);
  for (HeldName& root : names) {
    if (const auto found = parts.find(root.name); found != parts.end()) {
      root.parts = names_of(found->second);
    }
  }
  return names;
}

struct ItemKey {
  std::string operation;
  std::string layout;
  Direction direction = Direction::forward;
  FrameId called_at{};

  auto operator<=>(const ItemKey&) const = default;
};

struct LineSums {
  Held held;
  std::map<ItemKey, Held> items;
  std::map<std::string, Held> labels;
  std::map<FrameId, std::uint64_t> innermost;  // bytes
};

class Summary {
 public:
  Summary(const Snapshot& snapshot, const ReportOptions& options, PeakReport& report)
      : snapshot_(snapshot),
        frames_(snapshot, options.library_folders, options.own),
        phases_(snapshot),
        report_(report) {}

  void run() {
    const BlockColumns& set = snapshot_.peak_set[kCapacity];
    for (std::size_t b = 0; b < set.count(); ++b) add(set.row(b));
    report_.by_line = lines();
    report_.by_operation = names_of(operations_);
    report_.by_label = labels_by_root(labels_);
    report_.by_phase = names_of(phase_sums_);
    report_.call_tree = call_tree(snapshot_, frames_);
    for (const auto& [gap, held] : gaps_) report_.unattributed.push_back({gap, held});
    report_.peak_phase = phases_.path(snapshot_.peak[kCapacity].sequence);
  }

 private:
  void add(const BlockRow& block) {
    const Held held{.bytes = block.size, .requested = block.requested, .blocks = 1};
    const std::string label(snapshot_.text(block.label));
    const ItemKey item = item_of(block);
    const StackId told = block.forward ? block.forward : block.stack;
    report_.peak += held;
    operations_[item.operation] += held;
    labels_[label] += held;
    phase_sums_[phases_.kind_path(block.alloc_sequence)] += held;

    LineSums& line = line_sums_[frames_.line_of(told)];
    line.held += held;
    line.items[item] += held;
    if (!label.empty()) line.labels[label] += held;
    if (told) line.innermost[snapshot_.stacks.frame(told)] += block.size;

    const std::optional<Gap> gap = gap_of(block, frames_.line_of(told));
    if (gap) {
      gaps_[*gap] += held;
    } else {
      report_.attributed += held;
    }
  }

  ItemKey item_of(const BlockRow& block) {
    return {.operation = std::string(snapshot_.text(block.op)),
            .layout = block.layout ? record::layout_text(snapshot_.layout(block.layout)) : "",
            .direction = block.forward ? Direction::backward : Direction::forward,
            .called_at = block.forward ? frames_.line_of(block.stack) : FrameId{}};
  }

  std::optional<Gap> gap_of(const BlockRow& block, FrameId line) const {
    if (block.action == record::Action::none) return Gap::before_recording;
    if (block.hidden) return Gap::below_min_size;
    if (line && block.op && block.layout) return std::nullopt;
    if (snapshot_.counters.ids_refused > 0) return Gap::capped;
    if (!block.stack) return Gap::no_line;
    if (!line) return Gap::library_line_only;
    return block.op ? Gap::no_layout : Gap::no_operation;
  }

  std::optional<Location> location(FrameId frame) const {
    if (!frame) return std::nullopt;
    return frames_.location(frame);
  }

  std::vector<HeldLine> lines() {
    SourceLines sources(snapshot_.start_us);
    std::vector<HeldLine> lines;
    for (const auto& [frame, sums] : line_sums_) {
      HeldLine line;
      line.line = location(frame);
      if (line.line) line.source = sources.line(line.line->file, line.line->line);
      line.held = sums.held;
      line.innermost = innermost(sums);
      line.items = items(sums);
      line.labels = names_of(sums.labels);
      lines.push_back(std::move(line));
    }
    sort_by_bytes(lines, [](const HeldLine& entry) {
      const Location place = entry.line.value_or(Location{});
      return std::tuple(place.file, place.line, place.function);
    });
    return lines;
  }

  std::optional<Location> innermost(const LineSums& sums) const {
    std::uint64_t most = 0;
    std::optional<Location> chosen;
    for (const auto& [frame, bytes] : sums.innermost) {
      Location place = frames_.location(frame);
      const bool tie = chosen && bytes == most &&
                       std::tie(place.file, place.line) < std::tie(chosen->file, chosen->line);
      if (chosen && bytes <= most && !tie) continue;
      most = bytes;
      chosen = std::move(place);
    }
    return chosen;
  }

  std::vector<HeldItem> items(const LineSums& sums) const {
    std::vector<HeldItem> items;
    for (const auto& [key, held] : sums.items) {
      items.push_back({.operation = key.operation,
                       .layout = key.layout,
                       .direction = key.direction,
                       .called_at = location(key.called_at),
                       .held = held});
    }
    sort_by_bytes(items, [](const HeldItem& entry) {
      const Location place = entry.called_at.value_or(Location{});
      return std::tuple(entry.operation, entry.layout, entry.direction, place.file, place.line);
    });
    return items;
  }

  const Snapshot& snapshot_;
  UserFrames frames_;
  PhaseIndex phases_;
  PeakReport& report_;
  std::map<FrameId, LineSums> line_sums_;
  std::map<std::string, Held> operations_;
  std::map<std::string, Held> labels_;
  std::map<std::string, Held> phase_sums_;
  std::map<Gap, Held> gaps_;
};

/// As counted by the recorder, whatever the ring has lost; else read off the curve.
std::optional<std::uint64_t> cached_at_peak(const Snapshot& snapshot) {
  if (snapshot.peak[kCapacity].cached) return snapshot.peak[kCapacity].cached;
  const std::uint64_t sequence = snapshot.peak[kCapacity].sequence;
  if (sequence < snapshot.first_sequence) return std::nullopt;
  const std::uint64_t index = sequence - snapshot.first_sequence + 1;
  if (index > snapshot.events.count()) return std::nullopt;
  const std::int64_t cached = make_timeline(snapshot).cached.level[static_cast<std::size_t>(index)];
  // A cache whose state nobody told can look emptier at the end than it was: then it is unknown.
  if (cached < 0) return std::nullopt;
  return static_cast<std::uint64_t>(cached);
}

/// The kind of phase that ended most often, if often enough to speak of growth.
std::optional<Growth> growth_of(const Snapshot& snapshot, std::uint64_t most_steps) {
  std::map<std::string, std::vector<const PhaseRow*>> ended;
  for (const PhaseRow& phase : snapshot.phases) {
    if (!phase.open && phase.parent == 0) {
      ended[phase_kind(snapshot.text(phase.name))].push_back(&phase);
    }
  }
  const auto most = std::max_element(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (most == ended.end() || most->second.size() < 2) return std::nullopt;
  const std::vector<const PhaseRow*>& phases = most->second;
  const std::uint64_t steps = std::min<std::uint64_t>(most_steps, phases.size() - 1);
  const PhaseRow& first = *phases[phases.size() - 1 - static_cast<std::size_t>(steps)];
  return Growth{.phase = most->first,
                .steps = steps,
                .bytes = static_cast<std::int64_t>(phases.back()->end_active) -
                         static_cast<std::int64_t>(first.end_active)};
}

}  // namespace

std::string_view gap_text(Gap gap) noexcept {
  switch (gap) {
    case Gap::before_recording:
      return "before recording";
    case Gap::below_min_size:
      return "below min_size";
    case Gap::capped:
      return "capped";
    case Gap::no_line:
      return "no line";
    case Gap::library_line_only:
      return "library line only";
    case Gap::no_operation:
      return "no operation";
    case Gap::no_layout:
      return "no shape";
  }
  return "";
}

PeakReport make_peak_report(const Snapshot& snapshot, RunInfo run, const ReportOptions& options) {
  PeakReport report;
  report.run = std::move(run);
  report.requested_peak = snapshot.peak[kRequested].bytes;
  report.peak_time_us = snapshot.peak[kCapacity].time_us;
  report.start_time_us = snapshot.start_us;
  report.end_active = static_cast<std::uint64_t>(make_timeline(snapshot).active.end());
  report.events = std::accumulate(snapshot.counters.events.begin(), snapshot.counters.events.end(),
                                  std::uint64_t{0});
  report.events_overwritten = snapshot.counters.events_overwritten;
  report.cached = cached_at_peak(snapshot);
  report.growth = growth_of(snapshot, options.growth_steps);
  Summary(snapshot, options, report).run();
  report.notes = notes_of(snapshot, report.run);
  return report;
}

}  // namespace strandline::snapshot
