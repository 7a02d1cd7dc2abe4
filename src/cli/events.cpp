// SPDX-License-Identifier: Apache-2.0
// events FILE: one line each, filtered.
#include <memory>

#include <fmt/format.h>

#include "cli/stack_text.h"
#include "cli/verb.h"
#include "strandline/snapshot/printable.h"

namespace strandline::cli {
namespace {

using Json = nlohmann::ordered_json;
using snapshot::SnapshotFile;

struct EventOptions : FileOptions {
  std::string action;
  std::string frame;
  std::string label;
  std::string min_size;
};

/// Whether any frame of a stack names `text`, by stack, each looked at once.
class FrameFilter {
 public:
  FrameFilter(const snapshot::Snapshot& snapshot, const std::string& text)
      : snapshot_(snapshot), matches_(snapshot.stacks.size() + 1) {
    for (std::uint32_t id = 1; id < matches_.size(); ++id) {
      const snapshot::StackId stack{id};
      const snapshot::FrameId frame = snapshot.stacks.frame(stack);
      matches_[id] = matches_[snapshot.stacks.parent(stack).value] ||
                     has(snapshot.frames.file(frame), text) ||
                     has(snapshot.frames.function(frame), text);
    }
  }

  bool operator()(snapshot::StackId stack) const { return matches_[stack.value]; }

 private:
  bool has(snapshot::StringId id, const std::string& text) const {
    return snapshot_.text(id).find(text) != std::string_view::npos;
  }

  const snapshot::Snapshot& snapshot_;
  std::vector<bool> matches_;
};

std::vector<std::size_t> matching(const SnapshotFile& file, const EventOptions& options) {
  const snapshot::EventColumns& events = file.snapshot.events;
  const FrameFilter in_frames(file.snapshot, options.frame);
  const std::uint64_t min_size = options.min_size.empty() ? 0 : size_of(options.min_size);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < events.count(); ++i) {
    if (options.device && events.device[i] != *options.device) continue;
    if (!file.event_number(i)) continue;  // stands for the state before the range
    if (events.size[i] < min_size) continue;
    if (!options.frame.empty() && !in_frames(events.stack[i])) continue;
    if (!options.action.empty() && file.action_text(i) != options.action) continue;
    if (!options.label.empty() &&
        file.snapshot.text(events.label[i]).find(options.label) == std::string_view::npos) {
      continue;
    }
    rows.push_back(i);
  }
  return rows;
}

std::optional<snapshot::Location> innermost(const SnapshotFile& file, std::size_t row) {
  const snapshot::Snapshot& snapshot = file.snapshot;
  const snapshot::FrameId frame = snapshot.stacks.frame(snapshot.events.stack[row]);
  if (!frame) return std::nullopt;
  return snapshot::Location{.file = std::string(snapshot.text(snapshot.frames.file(frame))),
                            .function = std::string(snapshot.text(snapshot.frames.function(frame))),
                            .line = snapshot.frames.line(frame)};
}

Json event_json(const SnapshotFile& file, std::size_t row) {
  const snapshot::EventColumns& events = file.snapshot.events;
  const std::uint8_t device = events.device[row];
  return {{"device", device},
          {"event", *file.event_number(row)},
          {"action", file.action_text(row)},
          {"address", events.address[row]},
          {"size", events.size[row]},
          {"stream", file.snapshot.stream(events.stream[row]).first},
          {"time_us", events.time_us[row]},
          {"label", file.snapshot.text(events.label[row])},
          {"frame", location_json(innermost(file, row))}};
}

std::string event_text(const SnapshotFile& file, std::size_t row) {
  const snapshot::EventColumns& events = file.snapshot.events;
  const std::uint8_t device = events.device[row];
  return fmt::format("{:>3} {:>9} {:<15} {:#018x} {:>14} {}\n", device, *file.event_number(row),
                     snapshot::printable(file.action_text(row)), events.address[row],
                     events.size[row], line_text(innermost(file, row)));
}

Answer run(const EventOptions& options) {
  const SnapshotFile file = load(options);
  const std::vector<std::size_t> rows = matching(file, options);
  const std::size_t shown = std::min(rows.size(), options.top);
  Answer answer;
  if (options.json) {
    Json list = Json::array();
    for (std::size_t i = 0; i < shown; ++i) list.push_back(event_json(file, rows[i]));
    const Json document{{"format", "strandline.events"},
                        {"version", 1},
                        {"file", options.file},
                        {"matching", rows.size()},
                        {"events", std::move(list)}};
    answer.text = document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    return answer;
  }
  answer.text = fmt::format("{:>3} {:>9} {:<15} {:<18} {:>14} innermost frame\n", "dev", "event",
                            "action", "address", "size");
  for (std::size_t i = 0; i < shown; ++i) answer.text += event_text(file, rows[i]);
  if (shown < rows.size()) {
    answer.text += fmt::format("… {} more (--top)\n", rows.size() - shown);
  }
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
  verb->add_option("--action", options->action, "this action only, as alloc or oom");
  verb->add_option("--frame", options->frame, "with this text in a file or function of the stack");
  verb->add_option("--label", options->label, "with this text in the label");
  verb->add_option("--min-size", options->min_size, "of this size or more, as 1MiB");
  verb->footer("Example: strandline events run.pickle --action oom");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
