// SPDX-License-Identifier: Apache-2.0
// convert FILE OUT: the same snapshot, written anew; what the format cannot keep is told.
#include <memory>

#include <fmt/format.h>

#include "cli/verb.h"
#include "strandline/snapshot/json_writer.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/pickle_writer.h"

namespace strandline::cli {
namespace {

struct ConvertOptions : FileOptions {
  std::string output;
};

std::string lost_text(const snapshot::SnapshotFile& file) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) text += fmt::format("not kept: {} {}\n", count, what);
  };
  std::uint64_t actions = 0;
  for (const auto& extra : file.extras) {
    if (file.snapshot.text(extra.key) == "action") ++actions;
  }
  add(actions, "names of actions that are not of the format");
  add(file.extras.size() - actions, "values of other keys of events");
  add(file.host_events.count(), "events of host memory");
  add(file.host_segments.count(), "segments of host memory");
  return text;
}

Answer run(const ConvertOptions& options) {
  snapshot::SnapshotFile file = load(options);
  file.snapshot.phases.clear();
  for (std::size_t device = 0; device < file.snapshot.device_count(); ++device) {
    const auto number = static_cast<std::uint8_t>(device);
    for (auto& phase : snapshot::phases_of(file, number, snapshot::requested_curve(file, number))) {
      file.snapshot.phases.push_back(phase);
    }
  }
  if (options.output.ends_with(".slt")) {
    snapshot::write_native(file, options.output);
    return {};
  }
  if (options.output.ends_with(".json")) {
    snapshot::write_json(file.snapshot, options.output);
  } else {
    snapshot::write_pickle(file.snapshot, options.output);
  }
  return {.text = lost_text(file)};
}

}  // namespace

void add_convert(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("convert");
  const auto options = std::make_shared<ConvertOptions>();
  verb->add_option("file", options->file, "the snapshot to read")->required();
  verb->add_option("output", options->output,
                   "where to: .slt for the native file, .json for JSON, else a pickle")
      ->required();
  add_range(*verb, *options);
  verb->footer(
      "The pickle is of protocol 4 with the opcodes that memory_viz knows.\n"
      "Example: strandline convert run.pickle.zst run.pickle");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
