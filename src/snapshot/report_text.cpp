// SPDX-License-Identifier: Apache-2.0
// The report from its header to its notes; the tables are in report_tables.cpp.
#include "strandline/snapshot/report_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "snapshot/numbers.h"
#include "snapshot/printable_report.h"
#include "snapshot/report_tables.h"
#include "snapshot/utf8.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

/// Two sizes and their sum in one unit, shown so that they add up.
struct SplitSize {
  std::string sum;
  std::string part;
  std::string_view unit;
};

SplitSize split_size(std::uint64_t rest, std::uint64_t part) {
  const SizeUnit unit = unit_for(rest + part);
  const std::uint64_t sum = tenths(rest + part, unit);
  // The rest is shown elsewhere, rounded; the part takes what makes both the sum.
  const std::uint64_t shown_rest = std::min(sum, tenths(rest, unit));
  return {tenths_text(sum, unit), tenths_text(sum - shown_rest, unit), unit.name};
}

std::string header(const PeakReport& report) {
  const RunInfo& run = report.run;
  std::string text = run.program;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " · ") + part; };
  if (!run.framework.empty()) add(run.framework);
  if (run.steps)
    add(fmt::format("{} {}", with_commas(*run.steps), *run.steps == 1 ? "step" : "steps"));
  if (run.seconds) add(fmt::format("{:.1f} s", *run.seconds));
  if (run.exit_status && *run.exit_status != 0)
    add(fmt::format("exit status {}", *run.exit_status));
  add(fmt::format("{} {}, {}", with_commas(report.events), report.events == 1 ? "event" : "events",
                  report.events_overwritten == 0
                      ? "none lost"
                      : with_commas(report.events_overwritten) + " overwritten"));
  return text;
}

/// "813.4 MiB active (801.9 requested)": the unit is said once.
std::string peak_size(const PeakReport& report) {
  const SizeUnit unit = unit_for(report.peak.bytes);
  return fmt::format("{} {} active ({} requested)",
                     tenths_text(tenths(report.peak.bytes, unit), unit), unit.name,
                     tenths_text(tenths(report.peak.requested, unit), unit));
}

std::string peak_moment(const PeakReport& report) {
  std::string text;
  if (report.peak_time_us >= report.start_time_us && report.start_time_us != 0) {
    text = fmt::format("at {:.2f} s",
                       static_cast<double>(report.peak_time_us - report.start_time_us) / 1e6);
  }
  if (report.peak_phase.empty()) return text;
  return text + (text.empty() ? "in phase \"" : ", phase \"") + report.peak_phase + "\"";
}

/// Two columns where both fit, else one below the other.
std::string beside(std::string_view name, const std::string& left, const std::string& right,
                   std::size_t width) {
  const std::string first = fmt::format("{:<11}{}", name, left);
  if (right.empty()) return first + "\n";
  const std::size_t column = std::max<std::size_t>(51, width_of(first) + 2);
  if (column + width_of(right) > width) {
    return first + "\n" + std::string(11, ' ') + cut_to_width(right, width - 11) + "\n";
  }
  return first + std::string(column - width_of(first), ' ') + right + "\n";
}

std::string reserved_size(const PeakReport& report) {
  if (!report.cached) return {};
  const SplitSize split = split_size(report.peak.bytes, *report.cached);
  return fmt::format("{} {} reserved, of it {} cached", split.sum, split.unit, split.part);
}

std::string end_size(const PeakReport& report) {
  return "end of run " + size_text(report.end_active) + " active";
}

std::string exact_share(std::uint64_t part, std::uint64_t whole) {
  if (part == whole) return "100.0 %";
  // Rounded down: less than everything is never shown as 100.0 %.
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", std::min(99.9, 100.0 * share));
}

std::string attribution(const PeakReport& report, std::size_t width) {
  std::string text = fmt::format("attributed {} to a line, an operation and a shape",
                                 exact_share(report.attributed.bytes, report.peak.bytes));
  if (report.unattributed.empty()) return text + "\n";
  std::string rest = "the rest: ";
  for (const Unattributed& gap : report.unattributed) {
    if (&gap != report.unattributed.data()) rest += " · ";
    rest += fmt::format("{} {}", gap_text(gap.gap), size_text(gap.held.bytes));
  }
  return text + "\n" + wrapped(rest, 11, width);
}

std::string growth_text(const Growth& growth) {
  const auto steps = static_cast<double>(growth.steps);
  const auto size = static_cast<std::uint64_t>(
      static_cast<double>(growth.bytes < 0 ? -growth.bytes : growth.bytes) / steps);
  const SizeUnit unit = unit_for(std::max<std::uint64_t>(size, 1ULL << 20));
  return fmt::format("{}{} {} a step over the last {} {} (phase \"{}\")",
                     growth.bytes < 0 ? "-" : "+", tenths_text(tenths(size, unit), unit), unit.name,
                     with_commas(growth.steps), growth.steps == 1 ? "step" : "steps", growth.phase);
}

std::string notes_text(const std::vector<Note>& notes, std::size_t width) {
  std::string text;
  for (const Note& note : notes) {
    const std::string body = wrapped(note.text, 11, width);
    text += text.empty() ? "notes" + std::string(6, ' ') + body.substr(11) : body;
  }
  return text;
}

/// The path is never cut: it is there to be copied.
std::string snapshot_row(const std::string& path, std::size_t width) {
  const std::string row = fmt::format("{:<11}{}", "snapshot", path);
  const std::string hint = "(open at docs.pytorch.org/memory_viz)";
  const bool fits = width_of(row) + 3 + width_of(hint) <= width;
  return fmt::format("{}{}{}\n", row, fits ? "   " : "\n           ", hint);
}

std::string text_of(const PeakReport& report, const ReportTextOptions& options) {
  ReportTextOptions fitted = options;
  fitted.width = std::max<std::size_t>(options.width, 80);
  const std::size_t width = fitted.width;
  const Style style(options.color);
  std::string text = style.bold(cut_to_width(header(report), width)) + "\n";
  if (report.peak.bytes == 0) {
    text += "nothing was held: no allocation was recorded\n";
  } else {
    text += '\n';
    text += beside("peak", peak_size(report), peak_moment(report), width);
    const std::string reserved = reserved_size(report);
    text += reserved.empty() ? beside("", end_size(report), "", width)
                             : beside("", reserved, end_size(report), width);
    text += attribution(report, width);
    text += '\n';
    text += lines_table(report, fitted, style);
    text += '\n';
    if (options.call_tree) text += tree_table(report, fitted, style) + "\n";
    text += share_row("by operation", report.by_operation, report.peak.bytes, width);
    text += share_row("by label", report.by_label, report.peak.bytes, width);
    text += share_row("by phase", report.by_phase, report.peak.bytes, width);
    if (report.growth)
      text += wrapped(growth_text(*report.growth), 11, width).replace(0, 6, "growth");
  }
  text += notes_text(report.notes, width);
  if (!options.snapshot_path.empty()) {
    text += '\n';
    text += snapshot_row(printable(options.snapshot_path), width);
  }
  return text;
}

}  // namespace

std::string report_text(const PeakReport& report, const ReportTextOptions& options) {
  return text_of(printable_report(report), options);
}

}  // namespace strandline::snapshot
