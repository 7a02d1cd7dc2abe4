// SPDX-License-Identifier: Apache-2.0
// events FILE: one line each, filtered.
#include <memory>

#include "cli/verb.h"
#include "strandline/snapshot/event_list.h"
#include "strandline/snapshot/row_filter.h"

namespace strandline::cli {
namespace {

struct EventOptions : FileOptions {
  std::string action;
  std::string frame;
  std::string label;
  std::string min_size;

  /// The short options as a part of the filter.
  std::string whole_filter() const {
    std::string text = filter.empty() ? "" : "(" + filter + ")";
    const auto add = [&](const char* test, const std::string& value) {
      if (value.empty()) return;
      text += std::string(" ") + test + "\"";
      for (const char c : value) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
      text += '"';
    };
    add("action=", action);
    add("frame~", frame);
    add("label~", label);
    add("size>=", min_size);
    return text;
  }
};

Answer run(const EventOptions& options) {
  const snapshot::RowFilter filter = snapshot::RowFilter::parse(options.whole_filter());
  const snapshot::SnapshotFile file = load(options);
  const snapshot::FilterMatcher matcher(filter, file);
  const std::vector<std::size_t> rows = snapshot::matching_events(
      file, options.device_number(), [&](std::size_t row) { return matcher.event(row); });
  Answer answer;
  answer.text = options.json ? snapshot::events_json(file, rows, options.file, options.top)
                             : snapshot::events_text(file, rows, options.top);
  return answer;
}

}  // namespace

void add_events(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("events");
  const auto options = std::make_shared<EventOptions>();
  add_file(*verb, *options);
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_top(*verb, *options);
  add_filter(*verb, *options);
  verb->add_option("--action", options->action, "this action only, as alloc or oom");
  verb->add_option("--frame", options->frame, "with this text in a file or function of the stack");
  verb->add_option("--label", options->label, "with this text in the label");
  add_size(*verb, "--min-size", options->min_size, "of this size or more, as 1MiB");
  verb->footer(
      "Example: strandline events run.pickle --action oom\n"
      "         strandline events run.pickle --filter 'action=alloc phase~\"step 3\"'");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
