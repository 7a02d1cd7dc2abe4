// SPDX-License-Identifier: Apache-2.0
// Topic: snapshots as files. Cutting, resolving and writing go on without the interpreter lock;
// the capture source takes it where it has to tell a frame.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "event_input.h"
#include "strandline/record/recorder.h"
#include "strandline/snapshot/builder.h"
#include "strandline/snapshot/pickle_writer.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::python {
namespace {

void write_snapshot(const std::string& path) {
  const nb::gil_scoped_release release;
  snapshot::write_pickle(snapshot::take_snapshot(record::recorder()), path);
}

void write_events(nb::list events, const std::string& path) {
  snapshot::SnapshotBuilder builder;
  EventInputReader reader;
  for (std::size_t i = 0; i < nb::len(events); ++i) {
    const nb::object event = nb::borrow(events[i]);
    builder.add_event(reader.read(i, event));
  }
  const nb::gil_scoped_release release;
  snapshot::write_pickle(builder.finish(), path);
}

}  // namespace

void init_snapshot(nb::module_& m) {
  m.def("write_snapshot", &write_snapshot, nb::arg("path"),
        "Writes the recorder's snapshot for memory_viz.");
  m.def("write_events", &write_events, nb::arg("events"), nb::arg("path"),
        nb::sig("def write_events(events: list[dict[str, object]], path: str) -> None"),
        "Writes a snapshot of the events alone.");
}

}  // namespace strandline::python
