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
#include "snapshot/peak_input.h"
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
  StringId operation{};
  LayoutId layout{};
  Direction direction = Direction::forward;
  FrameId called_at{};

  auto operator<=>(const ItemKey&) const = default;
};

struct LineSums {
  Held held;
  std::map<ItemKey, Held> items;
  std::map<StringId, Held> labels;
  std::map<FrameId, std::uint64_t> innermost;  // bytes
};

class Summary {
 public:
  Summary(const PeakInput& input, const ReportOptions& options, PeakReport& report)
      : input_(input),
        tables_(input.tables),
        frames_(input.tables, options.library_folders, options.own),
        phases_(input.tables, input.phases),
        stretches_(phases_.stretches()),
        report_(report) {}

  void run() {
    for (std::size_t b = 0; b < input_.held.count(); ++b) add(b);
    report_.by_line = lines();
    report_.by_operation = names_of(texts_of(operations_));
    report_.by_label = labels_by_root(texts_of(labels_));
    report_.by_phase = names_of(phase_sums());
    report_.call_tree = call_tree(tables_, input_.held, frames_);
    for (const auto& [gap, held] : gaps_) report_.unattributed.push_back({gap, held});
    report_.peak_phase = phases_.path(input_.peak.sequence);
  }

 private:
  /// What was allocated between two changes of phase.
  struct Stretch {
    std::uint64_t sequence = 0;  // of one of its events
    Held held;
  };

  void add(std::size_t b) {
    const BlockColumns& set = input_.held;
    const Held held{.bytes = set.size[b], .requested = set.requested[b], .blocks = 1};
    const StackId told = set.forward[b] ? set.forward[b] : set.stack[b];
    report_.peak += held;
    operations_[set.op[b]] += held;
    labels_[set.label[b]] += held;
    Stretch& stretch = stretches_[phases_.stretch(set.alloc_sequence[b])];
    stretch.sequence = set.alloc_sequence[b];
    stretch.held += held;

    const FrameId users = frames_.line_of(told);
    LineSums& line = line_sums_[users];
    line.held += held;
    line.items[item_of(b)] += held;
    if (set.label[b]) line.labels[set.label[b]] += held;
    if (told) line.innermost[tables_.stacks.frame(told)] += held.bytes;

    const std::optional<Gap> gap = gap_of(b, users);
    if (gap) {
      gaps_[*gap] += held;
    } else {
      report_.attributed += held;
    }
  }

  ItemKey item_of(std::size_t b) {
    const BlockColumns& set = input_.held;
    const bool is_backward = static_cast<bool>(set.forward[b]);
    return {.operation = set.op[b],
            .layout = set.layout[b],
            .direction = is_backward ? Direction::backward : Direction::forward,
            .called_at = is_backward ? frames_.line_of(set.stack[b]) : FrameId{}};
  }

  std::optional<Gap> gap_of(std::size_t b, FrameId line) const {
    const BlockColumns& set = input_.held;
    if (set.action[b] == record::Action::none) return Gap::before_recording;
    if (set.hidden[b] != 0) return Gap::below_min_size;
    if (line && set.op[b] && set.layout[b]) return std::nullopt;
    if (tables_.counters.ids_refused > 0) return Gap::capped;
    if (!set.stack[b]) return Gap::no_line;
    if (!line) return Gap::library_line_only;
    return set.op[b] ? Gap::no_layout : Gap::no_operation;
  }

  std::map<std::string, Held> texts_of(const std::map<StringId, Held>& sums) const {
    std::map<std::string, Held> texts;
    for (const auto& [id, held] : sums) texts[std::string(tables_.text(id))] += held;
    return texts;
  }

  std::map<std::string, Held> phase_sums() const {
    std::map<std::string, Held> sums;
    for (const Stretch& stretch : stretches_) {
      if (stretch.held.blocks > 0) sums[phases_.kind_path(stretch.sequence)] += stretch.held;
    }
    return sums;
  }

  std::optional<Location> location(FrameId frame) const {
    if (!frame) return std::nullopt;
    return frames_.location(frame);
  }

  std::vector<HeldLine> lines() {
    SourceLines sources(tables_.start_us);
    std::vector<HeldLine> lines;
    for (const auto& [frame, sums] : line_sums_) {
      HeldLine line;
      line.line = location(frame);
      if (line.line) line.source = sources.line(line.line->file, line.line->line);
      line.held = sums.held;
      line.innermost = innermost(sums);
      line.items = items(sums);
      line.labels = names_of(texts_of(sums.labels));
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
      items.push_back({.operation = std::string(tables_.text(key.operation)),
                       .layout = key.layout ? record::layout_text(tables_.layout(key.layout)) : "",
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

  const PeakInput& input_;
  const Snapshot& tables_;
  UserFrames frames_;
  PhaseIndex phases_;
  std::vector<Stretch> stretches_;
  PeakReport& report_;
  std::map<FrameId, LineSums> line_sums_;
  std::map<StringId, Held> operations_;
  std::map<StringId, Held> labels_;
  std::map<Gap, Held> gaps_;
};

/// As counted by the recorder, whatever the ring has lost; else read off the curve.
std::optional<std::uint64_t> cached_at_peak(const Snapshot& snapshot) {
  if (snapshot.peak[kCapacity].cached) return snapshot.peak[kCapacity].cached;
  const std::uint64_t sequence = snapshot.peak[kCapacity].sequence;
  if (sequence < snapshot.first_sequence) return std::nullopt;
  const std::uint64_t index = sequence - snapshot.first_sequence + 1;
  if (index > snapshot.events.count()) return std::nullopt;
  const std::int64_t cached = cached_level(snapshot, static_cast<std::size_t>(index));
  // A cache whose state nobody told can look emptier at the end than it was: then it is unknown.
  if (cached < 0) return std::nullopt;
  return static_cast<std::uint64_t>(cached);
}

/// The kind of phase that ended most often, if often enough to speak of growth.
std::optional<Growth> growth_of(const Snapshot& tables, const std::vector<PhaseRow>& rows,
                                std::uint64_t most_steps) {
  std::map<std::string, std::vector<const PhaseRow*>> ended;
  for (const PhaseRow& phase : rows) {
    if (!phase.open && phase.parent == 0) {
      ended[phase_kind(tables.text(phase.name))].push_back(&phase);
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

PeakReport make_peak_report(const PeakInput& input, const ReportOptions& options) {
  PeakReport report;
  report.requested_peak = input.requested_peak;
  report.peak_time_us = input.peak.time_us;
  report.start_time_us = input.start_us;
  report.end_active = input.end_active;
  report.events = input.events;
  report.cached = input.cached;
  report.growth = growth_of(input.tables, input.phases, options.growth_steps);
  Summary(input, options, report).run();
  return report;
}

PeakReport make_peak_report(const Snapshot& snapshot, RunInfo run, const ReportOptions& options) {
  const record::Counters& counters = snapshot.counters;
  PeakReport report = make_peak_report(
      PeakInput{.tables = snapshot,
                .held = snapshot.peak_set[kCapacity],
                .phases = snapshot.phases,
                .peak = snapshot.peak[kCapacity],
                .requested_peak = snapshot.peak[kRequested].bytes,
                .cached = cached_at_peak(snapshot),
                .end_active = static_cast<std::uint64_t>(active_at_end(snapshot)),
                .start_us = snapshot.start_us,
                .events = std::accumulate(counters.events.begin(), counters.events.end(),
                                          std::uint64_t{0})},
      options);
  report.run = std::move(run);
  report.events_overwritten = counters.events_overwritten;
  report.notes = notes_of(snapshot, report.run);
  return report;
}

}  // namespace strandline::snapshot
