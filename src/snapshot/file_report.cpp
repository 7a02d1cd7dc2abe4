// SPDX-License-Identifier: Apache-2.0
// The report of a file: the peak report over what is held, and what the file alone tells.
#include "strandline/snapshot/file_report.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "snapshot/json.h"
#include "snapshot/measures.h"
#include "snapshot/numbers.h"
#include "snapshot/peak_input.h"
#include "snapshot/printable_report.h"
#include "snapshot/report_tables.h"
#include "snapshot/report_value.h"
#include "snapshot/utf8.h"
#include "snapshot/wrapping.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

void add_notes(const DeviceAccount& account, const SnapshotFile& file, std::vector<Note>& notes) {
  const auto add = [&](std::string kind, std::uint64_t number, std::string text) {
    if (number != 0) {
      notes.push_back({.kind = std::move(kind), .number = number, .text = std::move(text)});
    }
  };
  add("fault", file.snapshot.fault.empty() ? 0 : 1,
      "the recorder turned itself off: " + file.snapshot.fault);
  add("orphan_frees", account.orphan_frees,
      fmt::format("{} frees of blocks from before the trace ({}): it starts midway",
                  with_commas(account.orphan_frees), size_text(account.orphan_bytes)));
  add("double_allocs", account.double_allocs,
      fmt::format("{} allocs at an address still open: frees are missing from the trace",
                  with_commas(account.double_allocs)));
  add("lost_frees", account.lost_frees.value_or(0),
      fmt::format("{} blocks allocated, never freed, and not there at the end",
                  with_commas(account.lost_frees.value_or(0))));
  add("broken_segments", account.broken_segments,
      fmt::format("{} segments whose blocks leave holes, overlap or do not add up",
                  with_commas(account.broken_segments)));
  const std::uint64_t residual = magnitude(account.residual);
  add("residual", residual,
      fmt::format("{} of the curve that no event and no block explains (strandline check)",
                  size_text(residual)));
  if (account.part) {
    add("range", account.part->in_file,
        fmt::format("read in part: events {} to {} of {}; {} blocks were alive before them",
                    with_commas(account.part->first_event),
                    with_commas(account.part->first_event + account.events),
                    with_commas(account.part->in_file), with_commas(account.part->carried)));
  }
  add("host_events", file.host_events.count(),
      fmt::format("{} events of pinned host memory are not part of this",
                  with_commas(file.host_events.count())));
}

/// What is held at the moment; `result` gets its sums, the blocks that count come back.
BlockColumns blocks_that_count(const SnapshotFile& file, const AnswerOptions& options,
                               DeviceReport& result) {
  BlockColumns all = blocks_held(file, result.device, result.after_event);
  for (std::size_t b = 0; b < all.count(); ++b) {
    const Held one{.bytes = all.size[b], .requested = all.requested[b], .blocks = 1};
    result.held += one;
    if (all.action[b] == record::Action::none) result.before_trace += one;
  }
  if (!options.matches) return all;
  BlockColumns counted;
  for (std::size_t b = 0; b < all.count(); ++b) {
    const BlockRow row = all.row(b);
    if (options.counts(row)) counted.push_back(row);
  }
  return counted;
}

DeviceReport report_device(const SnapshotFile& file, const DeviceAccount& account,
                           const Moment& moment, const AnswerOptions& options) {
  const std::vector<std::int64_t>& times = file.snapshot.events.time_us;
  const std::uint8_t device = account.device;
  const RowRange trace = device < file.traces.size() ? file.traces[device] : RowRange{};
  const std::vector<std::int64_t> curve = requested_curve(file, device);
  const auto index = static_cast<std::size_t>(events_before(moment, file, account));
  DeviceReport result{.device = device,
                      .account = account,
                      .after_event = static_cast<std::int64_t>(index) - 1,
                      .level = curve[index],
                      .held = {},
                      .before_trace = {},
                      .report = {}};
  const BlockColumns held = blocks_that_count(file, options, result);
  const std::vector<PhaseRow> phases = phases_of(file, device, curve);
  const auto last = static_cast<std::size_t>(trace.first) + index;  // one past the event
  const auto level = static_cast<std::uint64_t>(std::max<std::int64_t>(curve[index], 0));
  result.report = make_peak_report(
      PeakInput{.tables = file.snapshot,
                .held = held,
                .phases = phases,
                .peak = {.bytes = level,
                         .sequence = index == 0 ? 0 : last,
                         .time_us = index == 0 ? 0 : times[last - 1],
                         .cached = std::nullopt},
                .requested_peak = level,
                .end_active = static_cast<std::uint64_t>(account.active_end),
                .start_us = trace.count > 0 ? times[static_cast<std::size_t>(trace.first)]
                                            : file.snapshot.start_us,
                .events = trace.count},
      {.library_folders = {}, .own = options.own});
  add_notes(account, file, result.report.notes);
  return result;
}

std::string heading(const DeviceReport& device, const std::string& file) {
  return fmt::format(
      "{} · device {} · {} {} · {}", file, device.device, with_commas(device.account.events),
      device.account.events == 1 ? "event" : "events", verdict_text(device.account.verdict));
}

std::string moment_text(const DeviceReport& device, const PeakReport& report) {
  const std::int64_t event = device.account.number_in_file(device.after_event);
  std::string text =
      event < 0 ? std::string("before the first event")
                : fmt::format("after event {}", with_commas(static_cast<std::uint64_t>(event)));
  if (device.after_event >= 0 && report.peak_time_us > report.start_time_us) {
    const auto elapsed = static_cast<double>(report.peak_time_us - report.start_time_us) / 1e6;
    text += fmt::format(", at {:.2f} s", elapsed);
  }
  if (!report.peak_phase.empty()) text += fmt::format(", phase \"{}\"", report.peak_phase);
  return text;
}

std::string device_text(const DeviceReport& device, const std::string& file,
                        const ReportTextOptions& options) {
  const PeakReport report = printable_report(device.report);
  const DeviceAccount& account = device.account;
  const bool is_peak = device.after_event == account.active_peak_after_event;
  const Style style(options.color);
  std::string text = style.bold(cut_to_width(heading(device, file), options.width)) + "\n\n";
  text += fmt::format("{:<11}{} requested, {} blocks, {}\n", is_peak ? "peak" : "held",
                      size_text(device.held.bytes), with_commas(device.held.blocks),
                      moment_text(device, report));
  if (report.peak.blocks != device.held.blocks) {
    text += fmt::format("{:<11}{} of it in {} blocks match the filter\n", "",
                        size_text(report.peak.bytes), with_commas(report.peak.blocks));
  }
  text +=
      fmt::format("{:<11}{} of it older than the trace, in {} blocks\n", "",
                  size_text(device.before_trace.bytes), with_commas(device.before_trace.blocks));
  text +=
      fmt::format("{:<11}{} requested; {} reserved, of it {} cached\n", "at the end",
                  size_text(report.end_active), size_text(account.reserved),
                  size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(account.cached, 0))));
  if (report.peak.bytes > 0) {
    text += '\n';
    text += lines_table(report, options, style);
    text += '\n';
    if (options.call_tree) text += tree_table(report, options, style) + "\n";
    text += share_row("by operation", report.by_operation, report.peak.bytes, options.width);
    text += share_row("by label", report.by_label, report.peak.bytes, options.width);
    text += share_row("by phase", report.by_phase, report.peak.bytes, options.width);
  }
  for (const Note& note : report.notes) text += wrapped(note.text, 2, options.width);
  return text;
}

}  // namespace

std::vector<DeviceReport> make_file_report(const SnapshotFile& file, const Moment& moment,
                                           std::optional<std::uint8_t> device,
                                           const AnswerOptions& options) {
  std::vector<DeviceReport> reports;
  for (const DeviceAccount& account : make_account(file, device).devices) {
    reports.push_back(report_device(file, account, moment, options));
  }
  return reports;
}

std::string file_report_text(const std::vector<DeviceReport>& devices, const std::string& file,
                             const ReportTextOptions& options) {
  ReportTextOptions fitted = options;
  fitted.width = std::max<std::size_t>(options.width, 80);
  const std::string name = printable(file);
  if (devices.empty()) return name + ": no events and no segments\n";
  std::string text;
  for (const DeviceReport& device : devices) {
    if (!text.empty()) text += '\n';
    text += device_text(device, name, fitted);
  }
  return text;
}

std::string file_report_json(const std::vector<DeviceReport>& devices, const std::string& file) {
  Json list = Json::array();
  for (const DeviceReport& device : devices) {
    list.push_back({{"device", device.device},
                    {"verdict", verdict_text(device.account.verdict)},
                    {"after_event", device.account.number_in_file(device.after_event)},
                    {"level_bytes", device.level},
                    {"is_peak", device.after_event == device.account.active_peak_after_event},
                    {"reserved_at_end_bytes", device.account.reserved},
                    {"cached_at_end_bytes", device.account.cached},
                    {"residual_bytes", device.account.residual},
                    {"held",
                     {{"bytes", device.held.bytes},
                      {"requested_bytes", device.held.requested},
                      {"blocks", device.held.blocks}}},
                    {"before_trace",
                     {{"bytes", device.before_trace.bytes},
                      {"requested_bytes", device.before_trace.requested},
                      {"blocks", device.before_trace.blocks}}},
                    {"report", report_value(device.report)}});
  }
  const Json document{{"format", "strandline.file_report"},
                      {"version", 1},
                      {"file", file},
                      {"measure", "requested"},
                      {"devices", std::move(list)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strandline::snapshot
