// SPDX-License-Identifier: Apache-2.0
// Options that several verbs have.
#include <cstdlib>
#include <memory>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/verb.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/row_filter.h"

namespace strandline::cli {
namespace {

/// What a parser of ours says of a text, as CLI11 wants it: empty for nothing.
template <typename Parse>
std::string complaint_of(Parse&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::size_t end = message.find("] ");
    return end == std::string::npos ? message : message.substr(end + 2);
  }
  return {};
}

}  // namespace

void add_file(CLI::App& verb, FileOptions& options) {
  verb.add_option("file", options.file,
                  "snapshot: a pickle, also .gz or .zst; - for standard input")
      ->required();
  verb.add_flag("--json", options.json, "as JSON, by the schemas in schema/");
}

void add_device(CLI::App& verb, FileOptions& options) {
  verb.add_option("--device", options.device, "this device only")->check(CLI::Range(0, 254));
}

void add_top(CLI::App& verb, FileOptions& options) {
  verb.add_option("--top", options.top, "rows shown")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->capture_default_str();
}

void add_filter(CLI::App& verb, FileOptions& options) {
  verb.add_option("--filter", options.filter,
                  "what counts, as 'frame~train.py size>=1MiB not label=data'; fields: frame, op, "
                  "label, owner, phase, action, size, stream, device, address, pool")
      ->check([](const std::string& text) {
        return complaint_of([&] { snapshot::RowFilter::parse(text); });
      });
  verb.add_option("--own", options.own,
                  "files with this text in their path are yours, all others libraries; may be "
                  "given again; a pattern of the whole path with * or ?")
      ->allow_extra_args(false);
}

CLI::Option* add_size(CLI::App& verb, const std::string& name, std::string& text,
                      const std::string& what) {
  return verb.add_option(name, text, what)->check([](const std::string& given) {
    return complaint_of([&] { snapshot::parse_size(given); });
  });
}

snapshot::AnswerOptions answer_options(const FileOptions& options,
                                       const snapshot::SnapshotFile& file) {
  snapshot::AnswerOptions made{.own = options.own, .matches = {}};
  if (options.filter.empty()) return made;
  const auto matcher =
      std::make_shared<snapshot::FilterMatcher>(snapshot::RowFilter::parse(options.filter), file);
  made.matches = [matcher](const snapshot::BlockRow& block) { return matcher->block(block); };
  return made;
}

void add_moment(CLI::App& verb, snapshot::Moment& moment, const std::string& suffix) {
  CLI::Option* const event = verb.add_option("--event" + suffix, moment.event,
                                             "after this event of the trace, -1: before all");
  CLI::Option* const time =
      verb.add_option("--time-us" + suffix, moment.time_us, "at this time, Unix microseconds");
  CLI::Option* const fraction =
      verb.add_option("--fraction" + suffix, moment.fraction, "of the events, 0 to 1")
          ->check(CLI::Range(0.0, 1.0));
  event->excludes(time)->excludes(fraction);
  time->excludes(fraction);
}

snapshot::ReportTextOptions text_options(std::size_t top) {
  snapshot::ReportTextOptions options;
  options.top = top;
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  const char* const no_color = std::getenv("NO_COLOR");
  options.color = is_terminal && (no_color == nullptr || *no_color == '\0');
  return options;
}

}  // namespace strandline::cli
