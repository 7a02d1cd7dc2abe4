// SPDX-License-Identifier: Apache-2.0
// The report as JSON, in the order a person would read it.
#include "strandline/snapshot/report_json.h"

#include "snapshot/json.h"
#include "snapshot/report_value.h"
#include "snapshot/utf8.h"

namespace strandline::snapshot {
namespace {

/// Names come from anywhere; JSON is UTF-8.
Json text(const std::string& any) {
  return is_valid_utf8(any) ? any : repaired_utf8(any);
}

Json text_or_null(const std::string& any) {
  return any.empty() ? Json(nullptr) : text(any);
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void put_held(Json& target, const Held& held) {
  target["bytes"] = held.bytes;
  target["requested_bytes"] = held.requested;
  target["blocks"] = held.blocks;
}

Json held(const Held& sums) {
  Json json = Json::object();
  put_held(json, sums);
  return json;
}

Json location(const std::optional<Location>& place) {
  if (!place) return nullptr;
  return {{"file", text(place->file)}, {"line", place->line}, {"function", text(place->function)}};
}

template <typename Entry, typename Convert>
Json array(const std::vector<Entry>& entries, Convert&& convert) {
  Json json = Json::array();
  for (const Entry& entry : entries) json.push_back(convert(entry));
  return json;
}

Json named(const HeldName& entry) {
  Json json = {{"name", text_or_null(entry.name)}};
  put_held(json, entry.held);
  if (!entry.parts.empty()) json["parts"] = array(entry.parts, named);
  return json;
}

Json item(const HeldItem& entry) {
  Json json = {{"operation", text_or_null(entry.operation)},
               {"layout", text_or_null(entry.layout)},
               {"direction", entry.direction == Direction::backward ? "backward" : "forward"},
               {"called_at", location(entry.called_at)}};
  put_held(json, entry.held);
  return json;
}

Json line(const HeldLine& entry) {
  Json json = {{"line", location(entry.line)},
               {"innermost", location(entry.innermost)},
               {"source", or_null(entry.source)}};
  put_held(json, entry.held);
  json["items"] = array(entry.items, item);
  json["labels"] = array(entry.labels, named);
  return json;
}

Json call(const CallNode& node) {
  Json json = {{"frame", location(node.frame)}, {"is_users", node.is_users}};
  put_held(json, node.held);
  json["children"] = array(node.children, call);
  return json;
}

Json run(const PeakReport& report, const std::string& snapshot_path) {
  const RunInfo& info = report.run;
  return {{"program", text_or_null(info.program)},
          {"framework", text_or_null(info.framework)},
          {"exit_status", or_null(info.exit_status)},
          {"steps", or_null(info.steps)},
          {"seconds", or_null(info.seconds)},
          {"start_time_us", report.start_time_us},
          {"events", report.events},
          {"events_overwritten", report.events_overwritten},
          {"unrecorded_processes", info.children},
          {"unexplained_bytes", info.lost_bytes},
          {"end_active_bytes", report.end_active},
          {"snapshot", text_or_null(snapshot_path)}};
}

Json peak(const PeakReport& report) {
  Json json = {
      {"active_bytes", report.peak.bytes}, {"requested_bytes", report.peak.requested},
      {"blocks", report.peak.blocks},      {"cached_bytes", or_null(report.cached)},
      {"reserved_bytes", nullptr},         {"highest_requested_bytes", report.requested_peak},
      {"time_us", report.peak_time_us},    {"phase", text_or_null(report.peak_phase)}};
  if (report.cached) json["reserved_bytes"] = report.peak.bytes + *report.cached;
  return json;
}

Json growth(const std::optional<Growth>& growth) {
  if (!growth) return nullptr;
  return {{"phase", text(growth->phase)}, {"steps", growth->steps}, {"bytes", growth->bytes}};
}

Json gap(const Unattributed& entry) {
  Json json = {{"kind", gap_text(entry.gap)}};
  put_held(json, entry.held);
  return json;
}

Json note(const Note& entry) {
  return {{"kind", entry.kind}, {"number", entry.number}, {"text", text(entry.text)}};
}

}  // namespace

Json report_value(const PeakReport& report, const std::string& snapshot_path) {
  return {{"format", "strandline.peak_report"},
          {"version", kReportJsonVersion},
          {"run", run(report, snapshot_path)},
          {"peak", peak(report)},
          {"attributed", held(report.attributed)},
          {"unattributed", array(report.unattributed, gap)},
          {"by_line", array(report.by_line, line)},
          {"by_operation", array(report.by_operation, named)},
          {"by_label", array(report.by_label, named)},
          {"by_phase", array(report.by_phase, named)},
          {"call_tree", array(report.call_tree, call)},
          {"growth", growth(report.growth)},
          {"notes", array(report.notes, note)}};
}

std::string report_json(const PeakReport& report, const std::string& snapshot_path) {
  return report_value(report, snapshot_path).dump(1) + "\n";
}

}  // namespace strandline::snapshot
