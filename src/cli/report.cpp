// SPDX-License-Identifier: Apache-2.0
// report FILE and at FILE: what is held, at the peak or at any other moment.
#include <memory>

#include <fmt/format.h>

#include "cli/verb.h"
#include "strandline/snapshot/row_filter.h"

namespace strandline::cli {
namespace {

struct ReportOptions : FileOptions {
  snapshot::Moment moment;
  std::string fail_over;
  bool call_tree = false;
};

void hold_against_limit(const std::vector<snapshot::DeviceReport>& reports,
                        const std::string& limit_text, Answer& answer) {
  const std::uint64_t limit = snapshot::parse_size(limit_text);
  for (const snapshot::DeviceReport& device : reports) {
    if (device.report.peak.bytes <= limit) continue;
    if (answer.status == kBad) answer.complaint += "\nstrandline: ";
    answer.status = kBad;
    answer.complaint += fmt::format("device {} holds {} bytes, over the limit of {} ({} bytes)",
                                    device.device, device.report.peak.bytes, limit_text, limit);
  }
}

Answer run(const ReportOptions& options) {
  const snapshot::SnapshotFile file = load(options);
  const auto reports = snapshot::make_file_report(file, options.moment, options.device_number(),
                                                  answer_options(options, file));
  snapshot::ReportTextOptions text = text_options(options.top);
  text.call_tree = options.call_tree;
  Answer answer;
  answer.text = options.json ? snapshot::file_report_json(reports, options.file)
                             : snapshot::file_report_text(reports, options.file, text);
  if (!options.fail_over.empty()) hold_against_limit(reports, options.fail_over, answer);
  return answer;
}

ReportOptions& add(CLI::App& verb, Answer& answer) {
  const auto options = std::make_shared<ReportOptions>();
  add_file(verb, *options);
  add_device(verb, *options);
  add_range(verb, *options);
  add_top(verb, *options);
  add_filter(verb, *options);
  verb.add_flag("--call-tree", options->call_tree, "the tree of your frames as well");
  add_size(verb, "--fail-over", options->fail_over,
           "exit status 1 when a device holds more than this size, as 80GiB");
  verb.callback([options, &answer] { answer = run(*options); });
  return *options;
}

}  // namespace

void add_report(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("report");
  add(*verb, answer);
  verb->footer(
      "The peak is that of everything; a filter says what of it is shown and held against a "
      "limit.\n"
      "Example: strandline report run.pickle --top 20 --fail-over 80GiB\n"
      "         strandline report run.pickle --filter 'phase~backward size>=1MiB'\n"
      "         strandline report run.pickle --own my_project/");
}

void add_at(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("at");
  ReportOptions& options = add(*verb, answer);
  add_moment(*verb, options.moment);
  verb->footer(
      "Example: strandline at run.pickle --fraction 0.5\n"
      "         strandline at run.pickle --event -1 --filter 'label=optimiser'");
}

}  // namespace strandline::cli
