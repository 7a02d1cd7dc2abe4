// SPDX-License-Identifier: Apache-2.0
// oom FILE: why allocations failed, or whether one of a size would.
#include <memory>

#include "cli/verb.h"
#include "strandline/snapshot/out_of_memory.h"
#include "strandline/snapshot/row_filter.h"

namespace strandline::cli {
namespace {

struct OomOptions : FileOptions {
  std::string size;
  std::uint64_t stream = 0;
  snapshot::Moment moment;
};

Answer run(const OomOptions& options) {
  const snapshot::SnapshotFile file = load(options);
  std::optional<snapshot::SizeQuestion> question;
  if (!options.size.empty()) {
    question = {.bytes = snapshot::parse_size(options.size),
                .moment = options.moment,
                .stream = options.stream};
  }
  const auto failures = snapshot::explain_out_of_memory(file, options.device_number(), question,
                                                        answer_options(options, file));
  Answer answer;
  answer.text = options.json ? snapshot::out_of_memory_json(failures, options.file, options.top)
                             : snapshot::out_of_memory_text(failures, options.file, options.top);
  return answer;
}

}  // namespace

void add_oom(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("oom");
  const auto options = std::make_shared<OomOptions>();
  add_file(*verb, *options);
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_top(*verb, *options);
  add_filter(*verb, *options);
  CLI::Option* const size = add_size(*verb, "--size", options->size,
                                     "ask about a size, as 2GiB, at the peak or another moment");
  verb->add_option("--stream", options->stream, "of the size that is asked about")->needs(size);
  add_moment(*verb, options->moment);
  for (const char* const name : {"--event", "--time-us", "--fraction"}) {
    verb->get_option(name)->needs(size);
  }
  verb->footer(
      "Example: strandline oom run.pickle\n"
      "         strandline oom run.pickle --size 2GiB --fraction 1");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
