// SPDX-License-Identifier: Apache-2.0
// Topic: the recorder's switches, sums and counters.

#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "interpreter_lock.h"
#include "strandline/core/clock.h"
#include "strandline/record/event.h"
#include "strandline/record/recorder.h"

namespace strandline::python {
namespace {

using record::Counters;
using record::Measure;
using record::recorder;

record::Stacks stacks_named(std::string_view name) {
  if (name == "python") return record::Stacks::python;
  if (name == "native") return record::Stacks::native;
  if (name == "all") return record::Stacks::all;
  if (name == "site") return record::Stacks::site;
  return record::Stacks::none;
}

void start(std::uint64_t max_entries, std::uint64_t min_size, const std::string& stacks) {
  const record::Stacks kind = stacks_named(stacks);
  // A stream is brought what a ring that is replaced still holds, and needs the lock for that.
  const ReleasedLock release;
  recorder().start({.max_entries = max_entries, .min_size = min_size, .stacks = kind});
}

void clear_history(bool tables) {
  const ReleasedLock release;
  recorder().clear_history(tables ? record::Recorder::ClearTables::yes
                                  : record::Recorder::ClearTables::no);
}

Measure measure_of(bool requested) {
  return requested ? Measure::requested : Measure::capacity;
}

nb::typed<nb::dict, nb::str, int> by_action(
    const std::array<std::uint64_t, record::kActionCount>& counts) {
  nb::typed<nb::dict, nb::str, int> result;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::string_view name = record::action_name(static_cast<record::Action>(i));
    result[nb::str(name.data(), name.size())] = counts[i];
  }
  return result;
}

nb::typed<nb::dict, nb::str, nb::object> counters() {
  const Counters counters = recorder().counters();
  nb::typed<nb::dict, nb::str, nb::object> result;
  result["events"] = by_action(counters.events);
  result["bytes"] = by_action(counters.bytes);
  result["events_overwritten"] = counters.events_overwritten;
  result["allocs_while_off"] = counters.allocs_while_off;
  result["dropped_below_min_size"] = counters.dropped_below_min_size;
  result["dropped_bytes"] = counters.dropped_bytes;
  result["orphan_frees"] = counters.orphan_frees;
  result["double_allocs"] = counters.double_allocs;
  result["unknown_binds"] = counters.unknown_binds;
  result["tracebacks_truncated"] = counters.tracebacks_truncated;
  result["ids_refused"] = counters.ids_refused;
  result["phases_refused"] = counters.phases_refused;
  result["sink_events_missed"] = counters.sink_events_missed;
  result["forks"] = counters.forks;
  return result;
}

}  // namespace

void init_recorder(nb::module_& m) {
  m.def("start", &start, nb::arg("max_entries"), nb::arg("min_size"), nb::arg("stacks"),
        "Switches recording on; `stacks` is a kind of stacks, empty for none.");
  m.def(
      "stop", [] { recorder().stop(); }, "Switches recording off; events stay.");
  m.def("clear_history", &clear_history, nb::arg("tables"),
        "Forgets events, phases and counters; with `tables` also every interned id.");
  m.def(
      "recording", [] { return record::recording(); }, "Whether events are recorded now.");
  m.def(
      "alive", [] { return record::tracking(); },
      "False in a forked child and after a fault: the recorder is off for good.");
  m.def(
      "fault", [] { return recorder().fault(); },
      "Why the recorder turned itself off; empty when it did not.");
  m.def(
      "active_memory", [](bool requested) { return recorder().active(measure_of(requested)); },
      nb::arg("requested") = false, "Bytes active now, by capacity or as requested.");
  m.def(
      "peak_memory", [](bool requested) { return recorder().peak(measure_of(requested)); },
      nb::arg("requested") = false, "Largest active since the last reset.");
  m.def(
      "reset_peak", [] { recorder().reset_peak(); }, "The peak becomes what is active now.");
  m.def(
      "mark_snapshot", [] { recorder().mark_snapshot(); },
      "Writes a marker event with the active bytes.");
  m.def("counters", &counters, "Everything recorded, lost or capped.");
  m.def(
      "clock_uses_cpu_counter", [] { return clock_uses_cpu_counter(); },
      "True when events carry the CPU's counter, False for CLOCK_MONOTONIC.");
  m.attr("compiler") =
#if defined(__clang__)
      "clang " __clang_version__;
#else
      "gcc " __VERSION__;
#endif
}

}  // namespace strandline::python
