// SPDX-License-Identifier: Apache-2.0
// slice FILE OUT: a smaller file of a part of the trace.
#include "strandline/snapshot/slice.h"

#include <memory>

#include "cli/verb.h"
#include "strandline/snapshot/file_writer.h"

namespace strandline::cli {
namespace {

struct SliceOptions : FileOptions {
  std::string output;
};

/// Times since the start are counted from the file's first event.
std::optional<std::int64_t> unix_us(const std::optional<snapshot::TimeBound>& bound,
                                    const snapshot::SnapshotFile& file) {
  if (!bound) return std::nullopt;
  return bound->us + (bound->since_start ? file.snapshot.start_us : 0);
}

Answer run(const SliceOptions& options) {
  snapshot::SnapshotFile file = snapshot::read_snapshot(options.file);
  const snapshot::SliceRange range{.first_event = options.range.first_event,
                                   .end_event = options.range.end_event,
                                   .first_us = unix_us(options.range.from, file),
                                   .end_us = unix_us(options.range.until, file),
                                   .device = options.device_number()};
  const snapshot::Slice slice = snapshot::make_slice(std::move(file), range);
  snapshot::write_file(slice.file, options.output, snapshot::format_of_path(options.output));
  Answer answer;
  answer.text = options.json ? snapshot::slice_json(slice, options.file, options.output)
                             : snapshot::slice_text(slice, options.file, options.output);
  return answer;
}

}  // namespace

void add_slice(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("slice");
  const auto options = std::make_shared<SliceOptions>();
  verb->add_option("file", options->file, "the snapshot to read")->required();
  verb->add_option("output", options->output, "where to: a pickle, or .json for JSON")->required();
  verb->add_flag("--json", options->json, "what was written, as JSON");
  add_device(*verb, *options);
  add_range(*verb, *options);
  verb->footer(
      "Segments and blocks are those after the last event kept, so the file adds up by itself.\n"
      "Example: strandline slice run.pickle part.pickle --events 100:200 --device 0");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
