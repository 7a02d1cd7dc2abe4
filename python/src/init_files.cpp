// SPDX-License-Identifier: Apache-2.0
// Topic: snapshot files. The command's verbs, the same ones as the native program's, without the
// interpreter lock.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "strandline/cli/verbs.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::python {
namespace {

using snapshot::SnapshotFile;

int run_verb(const std::vector<std::string>& arguments) {
  const nb::gil_scoped_release release;
  return cli::run_verb(arguments);
}

SnapshotFile read(const std::string& path, std::optional<std::uint64_t> first_event,
                  std::optional<std::uint64_t> end_event, std::optional<std::int64_t> from_us,
                  std::optional<std::int64_t> until_us, std::optional<std::uint8_t> device) {
  const nb::gil_scoped_release release;
  snapshot::ReadRange range{.first_event = first_event, .end_event = end_event, .device = device};
  if (from_us) range.from = snapshot::TimeBound{*from_us};
  if (until_us) range.until = snapshot::TimeBound{*until_us};
  return snapshot::read_snapshot(path, range);
}

std::string check_json(const SnapshotFile& file, const std::string& path) {
  const nb::gil_scoped_release release;
  return snapshot::account_json(snapshot::make_account(file), path);
}

std::string report_json(SnapshotFile& file, const std::string& path) {
  const nb::gil_scoped_release release;
  return snapshot::file_report_json(snapshot::make_file_report(file), path);
}

std::string report_text(SnapshotFile& file, const std::string& path, std::size_t top) {
  const nb::gil_scoped_release release;
  snapshot::ReportTextOptions options;
  options.top = top;
  return snapshot::file_report_text(snapshot::make_file_report(file), path, options);
}

}  // namespace

void init_files(nb::module_& m) {
  nb::class_<SnapshotFile>(m, "SnapshotFile", "A snapshot read from a file.")
      .def("check_json", &check_json, nb::arg("path"), "The books, by schema/check.schema.json.")
      .def("report_json", &report_json, nb::arg("path"),
           "What held the peak, by schema/file_report.schema.json.")
      .def("report_text", &report_text, nb::arg("path"), nb::arg("top"),
           "The same for a terminal.");
  m.def("read_snapshot", &read, nb::arg("path"), nb::arg("first_event").none(),
        nb::arg("end_event").none(), nb::arg("from_us").none(), nb::arg("until_us").none(),
        nb::arg("device").none(), "Reads a file or a part of it; \"-\" for standard input.");
  m.def("run_verb", &run_verb, nb::arg("arguments"),
        "Runs a verb on files as the command does; the exit status.");
  m.def(
      "is_file_verb", [](const std::string& verb) { return cli::is_file_verb(verb); },
      nb::arg("verb"), "Whether the command has such a verb on files.");
  m.def("file_verbs_help", &cli::file_verbs_help, "One line a verb on files.");
}

}  // namespace strandline::python
