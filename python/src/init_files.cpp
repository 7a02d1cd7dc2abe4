// SPDX-License-Identifier: Apache-2.0
// Topic: snapshot files. The command's verbs, and the same answers as JSON for strandline.answers;
// all without the interpreter lock.

#include <memory>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "interpreter_lock.h"
#include "strandline/cli/verbs.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/event_list.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/file_writer.h"
#include "strandline/snapshot/fragmentation.h"
#include "strandline/snapshot/leaks.h"
#include "strandline/snapshot/out_of_memory.h"
#include "strandline/snapshot/row_filter.h"
#include "strandline/snapshot/slice.h"
#include "strandline/snapshot/stack_groups.h"

namespace strandline::python {
namespace {

using namespace strandline::snapshot;

/// What an answer is about.
struct Query {
  Moment moment;
  std::optional<std::uint8_t> device;
  std::string filter;
  std::vector<std::string> own;
  std::size_t top = SIZE_MAX;

  AnswerOptions options(const SnapshotFile& file) const {
    AnswerOptions made{.own = own, .matches = {}};
    if (filter.empty()) return made;
    const auto matcher = std::make_shared<FilterMatcher>(RowFilter::parse(filter), file);
    made.matches = [matcher](const BlockRow& block) { return matcher->block(block); };
    return made;
  }
};

int run_verb(const std::vector<std::string>& arguments) {
  const ReleasedLock release;
  return cli::run_verb(arguments);
}

LoadedFile shared(SnapshotFile&& file) {
  return {std::make_shared<const SnapshotFile>(std::move(file))};
}

LoadedFile read(const std::string& path, std::optional<std::uint64_t> first_event,
                std::optional<std::uint64_t> end_event, std::optional<std::int64_t> from_us,
                std::optional<std::int64_t> until_us, std::optional<std::uint8_t> device) {
  const ReleasedLock release;
  ReadRange range{.first_event = first_event, .end_event = end_event, .device = device};
  if (from_us) range.from = TimeBound{*from_us};
  if (until_us) range.until = TimeBound{*until_us};
  return shared(read_snapshot(path, range));
}

/// JSON and text of one answer.
using Told = std::pair<std::string, std::string>;

std::vector<DeviceReport> reports_of(const SnapshotFile& file, const Query& query) {
  return make_file_report(file, query.moment, query.device, query.options(file));
}

Told report_of(const SnapshotFile& file, const std::string& path, const Query& query) {
  const ReleasedLock release;
  const std::vector<DeviceReport> reports = reports_of(file, query);
  return {file_report_json(reports, path), file_report_text(reports, path)};
}

std::string report_text_of(const LoadedFile& loaded, const std::string& path, const Query& query) {
  const ReleasedLock release;
  ReportTextOptions options;
  options.top = query.top;
  return file_report_text(reports_of(*loaded.file, query), path, options);
}

Told check_of(const SnapshotFile& file, const std::string& path) {
  const ReleasedLock release;
  const Account account = make_account(file);
  return {account_json(account, path), account_text(account, path)};
}

Told fragmentation_of(const SnapshotFile& file, const std::string& path, const Query& query) {
  const ReleasedLock release;
  const auto devices = make_fragmentation(file, query.moment, query.device, query.options(file));
  return {fragmentation_json(devices, path, query.top), fragmentation_text(devices, path, 10)};
}

Told oom_of(const SnapshotFile& file, const std::string& path, const Query& query,
            std::optional<std::uint64_t> size, std::uint64_t stream) {
  const ReleasedLock release;
  std::optional<SizeQuestion> question;
  if (size) question = {.bytes = *size, .moment = query.moment, .stream = stream};
  const auto failures = explain_out_of_memory(file, query.device, question, query.options(file));
  return {out_of_memory_json(failures, path, query.top), out_of_memory_text(failures, path, 10)};
}

Told leaks_of(const SnapshotFile& file, const std::string& path, const Query& query) {
  const ReleasedLock release;
  const std::uint8_t device = query.device.value_or(0);
  const auto leaks = find_leaks(file, device, query.options(file));
  return {leaks_json(leaks, path, device, query.top),
          leaks_text(leaks, file.snapshot.taken_us, 10)};
}

BlockColumns held_at(const SnapshotFile& file, const Query& query, std::int64_t& after_event) {
  const std::uint8_t device = query.device.value_or(0);
  for (const DeviceAccount& account : make_account(file, device).devices) {
    after_event = static_cast<std::int64_t>(events_before(query.moment, file, account)) - 1;
  }
  const AnswerOptions options = query.options(file);
  BlockColumns held;
  const BlockColumns all = blocks_held(file, device, after_event);
  for (std::size_t b = 0; b < all.count(); ++b) {
    const BlockRow row = all.row(b);
    if (options.counts(row)) held.push_back(row);
  }
  return held;
}

Told diff_of(const SnapshotFile& a, const std::string& path_a, const Query& query_a,
             const SnapshotFile& b, const std::string& path_b, const Query& query_b) {
  const ReleasedLock release;
  DifferenceNames names{.a = path_a, .b = path_b, .device = query_a.device.value_or(0)};
  const BlockColumns held_a = held_at(a, query_a, names.a_after_event);
  const BlockColumns held_b = held_at(b, query_b, names.b_after_event);
  const Difference difference = make_difference(a, held_a, b, held_b, query_a.own);
  return {difference_json(difference, names, query_a.top), difference_text(difference, names, 10)};
}

Told events_of(const SnapshotFile& file, const std::string& path, const Query& query) {
  const ReleasedLock release;
  const FilterMatcher matcher(RowFilter::parse(query.filter), file);
  const std::vector<std::size_t> rows =
      matching_events(file, query.device, [&](std::size_t row) { return matcher.event(row); });
  return {events_json(file, rows, path, query.top), events_text(file, rows, 10)};
}

LoadedFile slice_of(const LoadedFile& loaded, std::optional<std::uint64_t> first_event,
                    std::optional<std::uint64_t> end_event, std::optional<std::int64_t> first_us,
                    std::optional<std::int64_t> end_us, std::optional<std::uint8_t> device) {
  const ReleasedLock release;
  return shared(make_slice(*loaded.file, {.first_event = first_event,
                                          .end_event = end_event,
                                          .first_us = first_us,
                                          .end_us = end_us,
                                          .device = device})
                    .file);
}

/// What the format could not hold, as "12 annotations".
std::vector<std::string> write_as(const LoadedFile& loaded, const std::string& path,
                                  const std::string& format, const Query& query) {
  const ReleasedLock release;
  const SnapshotFile& file = *loaded.file;
  const std::optional<FileFormat> named = format_named(format);
  if (!format.empty() && !named) {
    throw InvalidArgument(
        error_message("Snapshot.write", "format", "\"" + format + "\"", format_names()));
  }
  const FileFormat chosen = format.empty() ? format_of_path(path) : *named;
  write_file(file, path, chosen,
             {.moment = query.moment, .device = query.device, .answers = query.options(file)});
  std::vector<std::string> lost;
  for (const Loss& loss : losses(file, chosen)) {
    lost.push_back(std::to_string(loss.count) + " " + loss.what);
  }
  return lost;
}

Query query_of(std::optional<std::int64_t> event, std::optional<std::int64_t> time_us,
               std::optional<double> fraction, std::optional<std::uint8_t> device,
               std::string filter, std::vector<std::string> own, std::optional<std::size_t> top) {
  RowFilter::parse(filter);
  return {.moment = {.event = event, .time_us = time_us, .fraction = fraction},
          .device = device,
          .filter = std::move(filter),
          .own = std::move(own),
          .top = top.value_or(SIZE_MAX)};
}

nb::object told(const Told& answer) {
  return nb::make_tuple(text_object(answer.first), text_object(answer.second));
}

const SnapshotFile& unwrapped(const LoadedFile& loaded) {
  return *loaded.file;
}
template <typename Value>
const Value& unwrapped(const Value& value) {
  return value;
}

/// An answer's function as one of the class.
template <auto Answer, typename... Arguments>
nb::object as_texts(Arguments... arguments) {
  return told(Answer(unwrapped(arguments)...));
}

void def_queries(nb::class_<LoadedFile>& file) {
  const auto typed = [](const char* signature) { return nb::sig(signature); };
  file.def("check", &as_texts<&check_of, const LoadedFile&, const std::string&>, nb::arg("path"),
           typed("def check(self, path: str) -> tuple[str, str]"),
           "JSON by schema/check.schema.json, and text.");
  file.def("report", &as_texts<&report_of, const LoadedFile&, const std::string&, const Query&>,
           nb::arg("path"), nb::arg("query"),
           typed("def report(self, path: str, query: Query) -> tuple[str, str]"),
           "What held a moment: JSON by schema/file_report.schema.json, and text.");
  file.def("fragmentation",
           &as_texts<&fragmentation_of, const LoadedFile&, const std::string&, const Query&>,
           nb::arg("path"), nb::arg("query"),
           typed("def fragmentation(self, path: str, query: Query) -> tuple[str, str]"),
           "JSON by schema/fragmentation.schema.json, and text.");
  file.def("oom",
           &as_texts<&oom_of, const LoadedFile&, const std::string&, const Query&,
                     std::optional<std::uint64_t>, std::uint64_t>,
           nb::arg("path"), nb::arg("query"), nb::arg("size").none(), nb::arg("stream"),
           typed("def oom(self, path: str, query: Query, size: int | None, stream: int) -> "
                 "tuple[str, str]"),
           "JSON by schema/oom.schema.json, and text.");
  file.def("leaks", &as_texts<&leaks_of, const LoadedFile&, const std::string&, const Query&>,
           nb::arg("path"), nb::arg("query"),
           typed("def leaks(self, path: str, query: Query) -> tuple[str, str]"),
           "JSON by schema/leaks.schema.json, and text.");
  file.def("events", &as_texts<&events_of, const LoadedFile&, const std::string&, const Query&>,
           nb::arg("path"), nb::arg("query"),
           typed("def events(self, path: str, query: Query) -> tuple[str, str]"),
           "JSON by schema/events.schema.json, and text.");
  file.def("diff",
           &as_texts<&diff_of, const LoadedFile&, const std::string&, const Query&,
                     const LoadedFile&, const std::string&, const Query&>,
           nb::arg("path"), nb::arg("query"), nb::arg("other"), nb::arg("other_path"),
           nb::arg("other_query"),
           typed("def diff(self, path: str, query: Query, other: SnapshotFile, other_path: str, "
                 "other_query: Query) -> tuple[str, str]"),
           "JSON by schema/diff.schema.json, and text.");
}

}  // namespace

void init_files(nb::module_& m) {
  const nb::class_<Query> query(m, "Query",
                                "Which moment, device, filter and frames an answer is about.");
  m.def("query", &query_of, nb::arg("event").none(), nb::arg("time_us").none(),
        nb::arg("fraction").none(), nb::arg("device").none(), nb::arg("filter"), nb::arg("own"),
        nb::arg("top").none(), "Parses the filter; ValueError names the place where it is wrong.");
  nb::class_<LoadedFile> file(m, "SnapshotFile", "A snapshot read from a file.");
  file.def("report_text", &report_text_of, nb::arg("path"), nb::arg("query"),
           "What held a moment, for a terminal.")
      .def("slice", &slice_of, nb::arg("first_event").none(), nb::arg("end_event").none(),
           nb::arg("first_us").none(), nb::arg("end_us").none(), nb::arg("device").none(),
           "The part, with the state after its last event.")
      .def("write", &write_as, nb::arg("path"), nb::arg("format"), nb::arg("query"),
           "Writes it in a format, by the name's end for an empty one; what it could not hold.");
  def_queries(file);
  m.def("read_snapshot", &read, nb::arg("path"), nb::arg("first_event") = nb::none(),
        nb::arg("end_event") = nb::none(), nb::arg("from_us") = nb::none(),
        nb::arg("until_us") = nb::none(), nb::arg("device") = nb::none(),
        "Reads a file or a part of it; \"-\" for standard input.");
  m.def("run_verb", &run_verb, nb::arg("arguments"),
        "Runs a verb on files as the command does; the exit status.");
  m.def(
      "is_file_verb", [](const std::string& verb) { return cli::is_file_verb(verb); },
      nb::arg("verb"), "Whether the command has such a verb on files.");
  m.def("file_verbs_help", &cli::file_verbs_help, "One line a verb on files.");
}

}  // namespace strandline::python
