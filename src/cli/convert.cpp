// SPDX-License-Identifier: Apache-2.0
// convert FILE OUT: the same snapshot, written anew; what the format cannot keep is told.
#include <memory>

#include <fmt/format.h>

#include "cli/verb.h"
#include "strandline/snapshot/file_writer.h"

namespace strandline::cli {
namespace {

struct ConvertOptions : FileOptions {
  std::string output;
  std::string format;
  snapshot::Moment moment;
};

std::string lost_text(const std::vector<snapshot::Loss>& lost) {
  std::string text;
  for (const snapshot::Loss& loss : lost) {
    text += fmt::format("not kept: {} {}\n", loss.count, loss.what);
  }
  return text;
}

Answer run(const ConvertOptions& options) {
  const snapshot::FileFormat format = options.format.empty()
                                          ? snapshot::format_of_path(options.output)
                                          : *snapshot::format_named(options.format);
  const snapshot::SnapshotFile file = load(options);
  snapshot::write_file(file, options.output, format,
                       {.moment = options.moment,
                        .device = options.device_number(),
                        .answers = answer_options(options, file)});
  Answer answer;
  answer.text = lost_text(snapshot::losses(file, format));
  return answer;
}

}  // namespace

void add_convert(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("convert");
  const auto options = std::make_shared<ConvertOptions>();
  verb->add_option("file", options->file, "the snapshot to read")->required();
  verb->add_option("output", options->output,
                   "where to; its end says the format: .slt the native file, .trace.json chrome, "
                   ".json json, .pb.gz or .pprof pprof, .folded folded, else pickle")
      ->required();
  verb->add_option("--to", options->format, "the format: " + snapshot::format_names())
      ->check([](const std::string& name) {
        if (snapshot::format_named(name)) return std::string();
        return fmt::format("\"{}\" is no format: {}", name, snapshot::format_names());
      });
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_filter(*verb, *options);
  add_moment(*verb, options->moment);
  verb->footer(
      "A pickle is of protocol 4 with the opcodes that memory_viz knows; pickle and json are of\n"
      "the whole file. Profiles (pprof, folded) are of what is held at the peak or another "
      "moment;\n"
      "Perfetto opens chrome.\n"
      "Example: strandline convert run.pickle.zst run.pickle\n"
      "         strandline convert run.pickle peak.pb.gz\n"
      "         strandline convert run.pickle run.trace.json --device 0");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
