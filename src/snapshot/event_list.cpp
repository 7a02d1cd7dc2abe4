// SPDX-License-Identifier: Apache-2.0
// One row an event.
#include "strandline/snapshot/event_list.h"

#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/json.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

std::optional<Location> innermost(const SnapshotFile& file, std::size_t row) {
  const Snapshot& snapshot = file.snapshot;
  const FrameId frame = snapshot.stacks.frame(snapshot.events.stack[row]);
  if (!frame) return std::nullopt;
  return Location{.file = std::string(snapshot.text(snapshot.frames.file(frame))),
                  .function = std::string(snapshot.text(snapshot.frames.function(frame))),
                  .line = snapshot.frames.line(frame)};
}

Json event_json(const SnapshotFile& file, std::size_t row) {
  const EventColumns& events = file.snapshot.events;
  const std::uint8_t device = events.device[row];
  return {{"device", device},
          {"event", file.event_number(row).value_or(0)},
          {"action", file.action_text(row)},
          {"address", events.address[row]},
          {"size", events.size[row]},
          {"stream", file.snapshot.stream(events.stream[row]).first},
          {"time_us", events.time_us[row]},
          {"label", file.snapshot.text(events.label[row])},
          {"frame", location_json(innermost(file, row))}};
}

std::string event_text(const SnapshotFile& file, std::size_t row) {
  const EventColumns& events = file.snapshot.events;
  const std::uint8_t device = events.device[row];
  return fmt::format("{:>3} {:>9} {:<15} {:#018x} {:>14} {}\n", device,
                     file.event_number(row).value_or(0), printable(file.action_text(row)),
                     events.address[row], events.size[row], line_text(innermost(file, row)));
}

}  // namespace

std::vector<std::size_t> matching_events(const SnapshotFile& file,
                                         std::optional<std::uint8_t> device,
                                         const std::function<bool(std::size_t)>& counts) {
  const EventColumns& events = file.snapshot.events;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < events.count(); ++i) {
    if (device && events.device[i] != *device) continue;
    if (!file.event_number(i)) continue;  // stands for the state before the range
    if (!counts || counts(i)) rows.push_back(i);
  }
  return rows;
}

std::string events_json(const SnapshotFile& file, const std::vector<std::size_t>& rows,
                        const std::string& path, std::size_t top) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) {
    list.push_back(event_json(file, rows[i]));
  }
  return document_text({{"format", "strandline.events"},
                        {"version", 1},
                        {"file", path},
                        {"matching", rows.size()},
                        {"events", std::move(list)}});
}

std::string events_text(const SnapshotFile& file, const std::vector<std::size_t>& rows,
                        std::size_t top) {
  std::string text = fmt::format("{:>3} {:>9} {:<15} {:<18} {:>14} innermost frame\n", "dev",
                                 "event", "action", "address", "size");
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) text += event_text(file, rows[i]);
  if (rows.size() > top) text += fmt::format("… {} more (--top)\n", rows.size() - top);
  return text;
}

}  // namespace strandline::snapshot
