// SPDX-License-Identifier: Apache-2.0
// report FILE and at FILE: what is held, at the peak or at any other moment.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/verb.h"

namespace strandline::cli {
namespace {

struct ReportOptions : FileOptions {
  snapshot::Moment moment;
  std::string fail_over;
  bool call_tree = false;
};

Answer run(const ReportOptions& options) {
  snapshot::SnapshotFile file = load(options);
  const auto reports = snapshot::make_file_report(file, options.moment, options.device_number());
  snapshot::ReportTextOptions text = text_options(options.top);
  text.call_tree = options.call_tree;
  Answer answer{.text = options.json ? snapshot::file_report_json(reports, options.file)
                                     : snapshot::file_report_text(reports, options.file, text)};
  if (options.fail_over.empty()) return answer;
  const std::uint64_t limit = size_of(options.fail_over);
  const bool over = std::any_of(reports.begin(), reports.end(), [&](const auto& device) {
    return device.report.peak.bytes > limit;
  });
  if (over) answer.status = kBad;
  return answer;
}

ReportOptions& add(CLI::App& verb, Answer& answer) {
  const auto options = std::make_shared<ReportOptions>();
  add_file(verb, *options);
  add_device(verb, *options);
  add_range(verb, *options);
  add_top(verb, *options);
  verb.add_flag("--call-tree", options->call_tree, "the tree of your frames as well");
  verb.callback([options, &answer] { answer = run(*options); });
  return *options;
}

}  // namespace

void add_report(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("report");
  ReportOptions& options = add(*verb, answer);
  verb->add_option("--fail-over", options.fail_over,
                   "exit status 1 when a device's peak is over this size, as 80GiB")
      ->check([](const std::string& text) {
        try {
          size_of(text);
        } catch (const CLI::ValidationError& error) {
          return std::string(error.what());
        }
        return std::string();
      });
  verb->footer("Example: strandline report run.pickle --top 20 --fail-over 80GiB");
}

void add_at(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("at");
  ReportOptions& options = add(*verb, answer);
  add_moment(*verb, options.moment);
  verb->footer("Example: strandline at run.pickle --fraction 0.5");
}

}  // namespace strandline::cli
