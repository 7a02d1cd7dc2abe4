// SPDX-License-Identifier: Apache-2.0
// leaks FILE: allocated in the trace, live at its end or growing from phase to phase.
#include "strandline/snapshot/leaks.h"

#include <memory>

#include "cli/verb.h"

namespace strandline::cli {
namespace {

Answer run(const FileOptions& options) {
  const snapshot::SnapshotFile file = load(options);
  const auto leaks =
      snapshot::find_leaks(file, options.one_device(), answer_options(options, file));
  Answer answer;
  answer.text = options.json
                    ? snapshot::leaks_json(leaks, options.file, options.one_device(), options.top)
                    : snapshot::leaks_text(leaks, file.snapshot.taken_us, options.top);
  return answer;
}

}  // namespace

void add_leaks(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("leaks");
  const auto options = std::make_shared<FileOptions>();
  add_file(*verb, *options);
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_top(*verb, *options);
  add_filter(*verb, *options);
  verb->footer(
      "What the program still works with is among it: old blocks of a stack whose others live\n"
      "shortly are the ones to look at, and stacks that hold more at the end of each phase than\n"
      "at the end of the one before.\n"
      "Example: strandline leaks run.pickle --filter 'size>=64KiB'");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
