// SPDX-License-Identifier: Apache-2.0
// Topic: the report of what held the peak, as values with attributes, as text and as JSON.
// Everything is read-only and a copy: it stays true when the recorder goes on.

#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "strandline/snapshot/peak_report.h"
#include "strandline/snapshot/report_json.h"
#include "strandline/snapshot/report_text.h"

namespace strandline::python {
namespace {

using namespace strandline::snapshot;

std::string text_of(const PeakReport& report, std::size_t top, std::size_t width, bool color,
                    bool call_tree, const std::string& snapshot_path) {
  return report_text(report, {.top = top,
                              .width = width,
                              .color = color,
                              .call_tree = call_tree,
                              .snapshot_path = snapshot_path});
}

void def_parts(nb::module_& m) {
  nb::class_<Held>(m, "Held", "Bytes of capacity, bytes asked for, and how many blocks.")
      .def_ro("bytes", &Held::bytes)
      .def_ro("requested", &Held::requested)
      .def_ro("blocks", &Held::blocks);
  nb::class_<Location>(m, "Location", "A line of code.")
      .def_ro("file", &Location::file)
      .def_ro("function", &Location::function)
      .def_ro("line", &Location::line);
  nb::class_<HeldItem>(m, "HeldItem", "What one line made of one kind; texts are empty if unknown.")
      .def_ro("operation", &HeldItem::operation)
      .def_ro("layout", &HeldItem::layout)
      .def_prop_ro("is_backward",
                   [](const HeldItem& i) { return i.direction == Direction::backward; })
      .def_ro("called_at", &HeldItem::called_at,
              "Of a backward item: the line that asked for the gradient.")
      .def_ro("held", &HeldItem::held);
  nb::class_<HeldName>(m, "HeldName", "What one operation, label or phase holds.")
      .def_ro("name", &HeldName::name)
      .def_ro("held", &HeldName::held)
      .def_ro("parts", &HeldName::parts, "Of a label: the full labels it is the root of.");
  nb::class_<CallNode>(m, "CallNode", "A frame with what it and what it called hold.")
      .def_ro("frame", &CallNode::frame)
      .def_ro("is_users", &CallNode::is_users)
      .def_ro("held", &CallNode::held)
      .def_ro("children", &CallNode::children);
}

void def_facts(nb::module_& m) {
  nb::class_<HeldLine>(m, "HeldLine", "What one line of the user's code holds.")
      .def_ro("line", &HeldLine::line, "None when no frame is the user's.")
      .def_ro("innermost", &HeldLine::innermost, "Innermost frame of most of the bytes.")
      .def_ro("source", &HeldLine::source, "Text of the line, None when it cannot be read.")
      .def_ro("held", &HeldLine::held)
      .def_ro("items", &HeldLine::items)
      .def_ro("labels", &HeldLine::labels);
  nb::class_<Unattributed>(m, "Unattributed", "Bytes that lack a line, an operation or a layout.")
      .def_prop_ro(
          "reason", [](const Unattributed& u) { return text_object(std::string(gap_text(u.gap))); },
          nb::sig("def reason(self) -> str"))
      .def_ro("held", &Unattributed::held);
  nb::class_<Growth>(m, "Growth", "Change of active bytes over the last steps of one phase.")
      .def_ro("phase", &Growth::phase)
      .def_ro("steps", &Growth::steps)
      .def_ro("bytes", &Growth::bytes);
  nb::class_<Note>(m, "Note", "A fact about the record, with its number.")
      .def_ro("kind", &Note::kind)
      .def_ro("number", &Note::number)
      .def_ro("text", &Note::text);
  nb::class_<RunInfo>(m, "RunInfo", "What is known of the run.")
      .def_ro("program", &RunInfo::program)
      .def_ro("framework", &RunInfo::framework)
      .def_ro("exit_status", &RunInfo::exit_status)
      .def_ro("steps", &RunInfo::steps)
      .def_ro("seconds", &RunInfo::seconds)
      .def_ro("children", &RunInfo::children)
      .def_ro("lost_bytes", &RunInfo::lost_bytes);
}

void def_report(nb::module_& m) {
  nb::class_<PeakReport>(m, "MemoryReport", "What held memory at the peak; lists largest first.")
      .def_ro("run", &PeakReport::run)
      .def(
          "__str__", [](const PeakReport& report) { return text_object(report_text(report, {})); },
          nb::sig("def __str__(self) -> str"))
      .def_ro("peak", &PeakReport::peak)
      .def_ro("requested_peak", &PeakReport::requested_peak)
      .def_ro("cached", &PeakReport::cached, "At the peak; None when that moment is lost.")
      .def_ro("peak_phase", &PeakReport::peak_phase, "Empty outside of every phase.")
      .def_ro("peak_time_us", &PeakReport::peak_time_us)
      .def_ro("start_time_us", &PeakReport::start_time_us)
      .def_ro("end_active", &PeakReport::end_active)
      .def_ro("events", &PeakReport::events, "Written, those overwritten since included.")
      .def_ro("events_overwritten", &PeakReport::events_overwritten)
      .def_ro("attributed", &PeakReport::attributed,
              "Has the user's line, an operation and a layout.")
      .def_ro("unattributed", &PeakReport::unattributed)
      .def_ro("by_line", &PeakReport::by_line)
      .def_ro("by_operation", &PeakReport::by_operation)
      .def_ro("by_label", &PeakReport::by_label)
      .def_ro("by_phase", &PeakReport::by_phase)
      .def_ro("call_tree", &PeakReport::call_tree)
      .def_ro("growth", &PeakReport::growth)
      .def_ro("notes", &PeakReport::notes)
      .def("text", &text_of, nb::arg("top") = 10, nb::arg("width") = 80, nb::arg("color") = false,
           nb::arg("call_tree") = false, nb::arg("snapshot_path") = "",
           "For a terminal: the `top` lines, at least 80 columns wide.")
      .def("json", &report_json, nb::arg("snapshot_path") = "",
           "All of it, bytes exact, by schema/peak_report.schema.json.");
}

}  // namespace

void init_report(nb::module_& m) {
  def_parts(m);
  def_facts(m);
  def_report(m);
}

}  // namespace strandline::python
