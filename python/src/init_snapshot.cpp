// SPDX-License-Identifier: Apache-2.0
// Topic: the snapshot, what is written from it and what is read out of it. Cutting, resolving and
// writing go on without the interpreter lock; the capture source takes it to tell a frame.

#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "event_input.h"
#include "interpreter_lock.h"
#include "strandline/alloc/framework.h"
#include "strandline/record/adapter.h"
#include "strandline/record/recorder.h"
#include "strandline/snapshot/builder.h"
#include "strandline/snapshot/peak_report.h"
#include "strandline/snapshot/pickle_writer.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::python {
namespace {

using snapshot::Snapshot;

Snapshot take_snapshot() {
  const ReleasedLock release;
  return snapshot::take_snapshot(record::recorder());
}

Snapshot snapshot_of_events(nb::list events) {
  snapshot::SnapshotBuilder builder;
  EventInputReader reader;
  for (std::size_t i = 0; i < nb::len(events); ++i) {
    const nb::object event = nb::borrow(events[i]);
    builder.add_event(reader.read(i, event));
  }
  return builder.finish();
}

void write_pickle(const Snapshot& snapshot, const std::string& path) {
  const ReleasedLock release;
  snapshot::write_pickle(snapshot, path);
}

/// Phases that lie in no other, none when there are none.
std::optional<std::uint64_t> steps_of(const Snapshot& snapshot) {
  const auto steps = std::count_if(snapshot.phases.begin(), snapshot.phases.end(),
                                   [](const auto& phase) { return phase.parent == 0; });
  if (steps == 0) return std::nullopt;
  return static_cast<std::uint64_t>(steps);
}

/// Fills in what the snapshot and the adapters know.
snapshot::PeakReport report(const Snapshot& snapshot, std::string program,
                            std::optional<int> exit_status, std::optional<double> seconds,
                            std::uint64_t started_children,
                            std::vector<std::string> library_folders) {
  const ReleasedLock release;
  snapshot::RunInfo run{.program = std::move(program),
                        .framework = {},
                        .exit_status = exit_status,
                        .steps = steps_of(snapshot),
                        .seconds = seconds,
                        .children = started_children + snapshot.counters.forks};
  for (const record::Adapter* adapter : record::adapters()) {
    if (!adapter->is_attached()) continue;
    if (!run.framework.empty()) run.framework += ", ";
    run.framework += adapter->name();
    run.framework += ' ';
    run.framework += adapter->framework_version();
    const auto* framework = dynamic_cast<const alloc::Framework*>(adapter);
    if (framework != nullptr && framework->used_allocator() != nullptr) {
      run.framework += " on ";
      run.framework += framework->used_allocator()->name();
    }
    run.lost_bytes += adapter->lost_bytes();
  }
  const snapshot::ReportOptions options{.library_folders = std::move(library_folders)};
  return snapshot::make_peak_report(snapshot, std::move(run), options);
}

}  // namespace

void init_snapshot(nb::module_& m) {
  nb::class_<Snapshot>(m, "Snapshot", "What happened to memory and what it holds, at one moment.")
      .def("write_pickle", &write_pickle, nb::arg("path"), "Writes it for memory_viz.")
      .def("report", &report, nb::arg("program"), nb::arg("exit_status").none(),
           nb::arg("seconds").none(), nb::arg("started_children"), nb::arg("library_folders"),
           "What held the peak; `library_folders` hold code that is not the user's.");
  m.def("take_snapshot", &take_snapshot, "A consistent cut of the record, resolved.");
  m.def("snapshot_of_events", &snapshot_of_events, nb::arg("events"),
        nb::sig("def snapshot_of_events(events: list[dict[str, object]]) -> Snapshot"),
        "A snapshot of the events alone.");
}

}  // namespace strandline::python
