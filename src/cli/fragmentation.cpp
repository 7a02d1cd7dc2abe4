// SPDX-License-Identifier: Apache-2.0
// fragmentation FILE: what is reserved and serves nobody.
#include "strandline/snapshot/fragmentation.h"

#include <memory>

#include "cli/verb.h"

namespace strandline::cli {
namespace {

struct FragmentationOptions : FileOptions {
  snapshot::Moment moment;
};

Answer run(const FragmentationOptions& options) {
  const snapshot::SnapshotFile file = load(options);
  const auto devices = snapshot::make_fragmentation(file, options.moment, options.device_number(),
                                                    answer_options(options, file));
  Answer answer;
  answer.text = options.json ? snapshot::fragmentation_json(devices, options.file, options.top)
                             : snapshot::fragmentation_text(devices, options.file, options.top);
  return answer;
}

}  // namespace

void add_fragmentation(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("fragmentation");
  const auto options = std::make_shared<FragmentationOptions>();
  add_file(*verb, *options);
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_top(*verb, *options);
  add_filter(*verb, *options);
  add_moment(*verb, options->moment);
  verb->footer(
      "The moment is the peak of requested bytes where none is named. A filter shows the segments\n"
      "that a matching block pins; sums are of everything.\n"
      "Example: strandline fragmentation run.pickle --top 5\n"
      "         strandline fragmentation run.pickle --fraction 1 --filter 'frame~train.py'");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
