// SPDX-License-Identifier: Apache-2.0
// A file in the recorded form, as a pickle of it would be read.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "snapshot/action_expansion.h"
#include "snapshot/file_links.h"
#include "snapshot/json.h"
#include "snapshot/phase_marks.h"
#include "snapshot/settings_list.h"
#include "strandline/snapshot/native_file.h"

namespace strandline::snapshot {
namespace {

class Expansion {
 public:
  explicit Expansion(SnapshotFile&& file) : file_(std::move(file)), snapshot_(file_.snapshot) {}

  SnapshotFile run() {
    take_settings();
    file_.annotations = phase_marks(snapshot_.phases);
    expand_events();
    find_allocs();
    file_.unaddressed.assign(snapshot_.segments.count(), 0);
    file_.keys = {"allocator_settings", "device_traces", "external_annotations",
                  "host_segments",      "host_traces",   "segments"};
    return std::move(file_);
  }

 private:
  void take_settings() {
    Json settings = Json::object();
    each_setting(snapshot_,
                 [&](const std::string& key, std::uint64_t value) { settings[key] = value; });
    settings["strandline_fault"] = snapshot_.fault;
    file_.settings = settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void expand_events() {
    EventColumns recorded = std::move(snapshot_.events);
    snapshot_.events = {};
    snapshot_.events.reserve(recorded.count() + recorded.count() / 2);
    std::vector<std::uint64_t> holder_sizes;
    if (!snapshot_.holder_requested.empty()) {
      holder_sizes.resize(recorded.count());
      std::size_t holder = 0;
      for (std::size_t i = 0; i < recorded.count(); ++i) {
        if (recorded.action[i] != record::Action::holder) continue;
        holder_sizes[i] = snapshot_.holder_requested[holder++];
      }
    }
    const std::size_t devices =
        file_.snapshot.segments.count() == 0 && recorded.count() == 0 ? 1 : devices_of(recorded);
    for (std::size_t device = 0; device < devices; ++device) {
      const std::uint64_t first = snapshot_.events.count();
      for (std::size_t i = 0; i < recorded.count(); ++i) {
        if (recorded.device[i] != device) continue;
        expand(recorded.row(i), holder_sizes.empty() ? 0 : holder_sizes[i]);
      }
      file_.traces.push_back({first, snapshot_.events.count() - first});
    }
    snapshot_.holder_requested.clear();
    snapshot_.first_sequence = 1;
  }

  std::size_t devices_of(const EventColumns& recorded) const {
    std::size_t devices = snapshot_.device_count();
    for (std::size_t i = 0; i < recorded.count(); ++i) {
      devices = std::max<std::size_t>(devices, std::size_t{recorded.device[i]} + 1);
    }
    return devices;
  }

  void expand(const EventRow& row, std::uint64_t holder_size) {
    expand_action(row.action, row.size, row.requested, holder_size,
                  [&](record::Action action, std::uint64_t size, About about) {
                    EventRow expanded = row;
                    expanded.action = action;
                    expanded.size = size;
                    expanded.requested = size;
                    if (action == record::Action::snapshot) expanded.address = 0;
                    if (about == About::segment) {
                      expanded.op = {};
                      expanded.owner = {};
                      expanded.layout = {};
                    }
                    snapshot_.events.push_back(expanded);
                  });
  }

  /// Live blocks by the numbers that events have now.
  void find_allocs() {
    const EventColumns& events = snapshot_.events;
    FlatMap<std::uint64_t> open;
    for (std::size_t i = 0; i < events.count(); ++i) {
      const std::uint64_t key = place_key(events.device[i], events.address[i]);
      if (record::begins_block(events.action[i])) open[key] = i + 1;
      if (record::ends_block(events.action[i])) open.erase(key);
    }
    BlockColumns blocks;
    for (std::size_t b = 0; b < snapshot_.blocks.count(); ++b) {
      BlockRow row = snapshot_.blocks.row(b);
      const std::uint64_t* number = open.find(place_key(row.device, row.address));
      const bool is_live = row.use != record::BlockUse::inactive;
      row.alloc_sequence = is_live && number != nullptr ? *number : 0;
      if (row.alloc_sequence != 0) row.action = record::Action::alloc;
      if (row.alloc_sequence == 0) row.action = record::Action::none;
      blocks.push_back(row);
    }
    snapshot_.blocks = std::move(blocks);
    for (BlockColumns& set : snapshot_.peak_set) set = {};
    snapshot_.peak = {};
  }

  SnapshotFile file_;
  Snapshot& snapshot_;
};

thread_local std::vector<std::string> t_notes;

void add_notes(const NativeFile& native, std::vector<std::string>& notes) {
  if (!native.is_complete) {
    notes.push_back(fmt::format(
        "the file was not closed: {} whole chunks are read, {} bytes after them left out; the "
        "state at the end is what the events tell",
        native.chunks, native.cut_bytes));
  }
  if (native.missed_events > 0) {
    notes.push_back(fmt::format("{} events are missing: the program was faster than its disk",
                                native.missed_events));
  }
  if (native.skipped_parts > 0) {
    notes.push_back(
        fmt::format("{} parts that a newer strandline wrote are left out", native.skipped_parts));
  }
}

}  // namespace

SnapshotFile as_snapshot_file(NativeFile&& native) {
  t_notes.clear();
  add_notes(native, t_notes);
  return native.is_recorded ? Expansion(std::move(native.file)).run() : std::move(native.file);
}

std::vector<std::string> take_reading_notes() {
  return std::exchange(t_notes, {});
}

}  // namespace strandline::snapshot
