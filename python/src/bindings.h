// SPDX-License-Identifier: Apache-2.0
// The module strandline._native: one init_<topic>.cpp a topic, each adding its functions to the
// module. Only strandline's own Python code calls them: arguments are checked there, so that
// messages name the function the user called.
// nanobind's leak report stays on: nothing here may outlive the interpreter by reference, except
// what is deliberately kept for ever by the capture source (see cpython_source.h), and what threads
// hold that are still there at exit (see interpreter_lock.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "strandline/record/recorder.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::python {

namespace nb = nanobind;

void init_errors(nb::module_& m);
void init_recorder(nb::module_& m);
void init_events(nb::module_& m);
void init_labels(nb::module_& m);
void init_capture(nb::module_& m);
void init_adapters(nb::module_& m);
void init_report(nb::module_& m);
void init_snapshot(nb::module_& m);
void init_stream(nb::module_& m);
void init_files(nb::module_& m);
void init_memory(nb::module_& m);
void init_allocators(nb::module_& m);
void init_settings(nb::module_& m);
void init_sim(nb::module_& m);
void init_columns(nb::module_& m);
void init_array(nb::module_& m);
void init_testing(nb::module_& m);

/// A snapshot file that columns handed out keep alive.
struct LoadedFile {
  std::shared_ptr<const snapshot::SnapshotFile> file;
};

/// A str of bytes that should be UTF-8; others are replaced. Throws nb::python_error.
nb::object text_object(const std::string& text);
/// The same, None when empty.
nb::object text_or_none(const std::string& text);

/// [(filename, function, line), …], outermost first; None for none or an id of cleared tables.
/// Keeps what it has resolved, so that one reader asks for each frame and stack once.
class TracebackReader {
 public:
  explicit TracebackReader(record::Tables& tables) : tables_(tables) {}

  /// The calling part of `id`. The list is shared by all that ask for the same id.
  nb::object calling(TracebackId id);
  nb::object forward(TracebackId id);

 private:
  nb::object stack(TracebackId id);
  nb::object frame(const record::RawFrame& raw);

  record::Tables& tables_;
  std::unordered_map<TracebackId, nb::object> stacks_;
  std::unordered_map<std::uint64_t, std::vector<std::pair<record::RawFrame, nb::object>>> frames_;
};

}  // namespace strandline::python
