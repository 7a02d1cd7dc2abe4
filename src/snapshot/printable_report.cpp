// SPDX-License-Identifier: Apache-2.0
// All the texts there are in a report.
#include "snapshot/printable_report.h"

#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

void clean(std::string& text) {
  text = printable(text);
}

void clean(std::optional<std::string>& text) {
  if (text) clean(*text);
}

void clean(Location& place) {
  clean(place.file);
  clean(place.function);
}

void clean(std::optional<Location>& place) {
  if (place) clean(*place);
}

void clean(std::vector<HeldName>& names) {
  for (HeldName& name : names) {
    clean(name.name);
    clean(name.parts);
  }
}

void clean(HeldLine& line) {
  clean(line.line);
  clean(line.innermost);
  clean(line.source);
  for (HeldItem& item : line.items) {
    clean(item.operation);
    clean(item.layout);
    clean(item.called_at);
  }
  clean(line.labels);
}

void clean(std::vector<CallNode>& calls) {
  for (CallNode& call : calls) {
    clean(call.frame);
    clean(call.children);
  }
}

}  // namespace

PeakReport printable_report(PeakReport report) {
  clean(report.run.program);
  clean(report.run.framework);
  clean(report.peak_phase);
  for (HeldLine& line : report.by_line) clean(line);
  clean(report.by_operation);
  clean(report.by_label);
  clean(report.by_phase);
  clean(report.call_tree);
  if (report.growth) clean(report.growth->phase);
  for (Note& note : report.notes) clean(note.text);
  return report;
}

}  // namespace strandline::snapshot
