// SPDX-License-Identifier: Apache-2.0
// Formats by name, and what each leaves out.
#include "strandline/snapshot/file_writer.h"

#include <algorithm>
#include <array>
#include <set>

#include "strandline/snapshot/json_writer.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/pickle_writer.h"

namespace strandline::snapshot {
namespace {

constexpr std::array<std::string_view, 6> kNames{"pickle", "slt",    "json",
                                                 "pprof",  "folded", "chrome"};

/// Keys of the outermost dictionary whose values are kept.
constexpr std::array<std::string_view, 6> kKnownKeys{"allocator_settings",   "device_traces",
                                                     "external_annotations", "host_segments",
                                                     "host_traces",          "segments"};

bool is_dictionary(FileFormat format) noexcept {
  return format == FileFormat::pickle || format == FileFormat::slt || format == FileFormat::json;
}

/// Values the reader counted and did not keep, whatever is written.
void add_unread(const SnapshotFile& file, std::vector<Loss>& lost) {
  const auto outer = static_cast<std::uint64_t>(
      std::count_if(file.keys.begin(), file.keys.end(), [](const std::string& key) {
        return std::find(kKnownKeys.begin(), kKnownKeys.end(), key) == kKnownKeys.end();
      }));
  std::uint64_t counted = 0;
  for (const auto& [key, count] : file.unknown_keys) counted += count;
  std::uint64_t of_events = 0;
  for (const EventExtra& extra : file.extras) {
    const std::string_view key = file.snapshot.text(extra.key);
    if (key != "action") ++of_events;
  }
  const std::uint64_t elsewhere = counted - std::min(counted, of_events + outer);
  if (outer > 0) lost.push_back({outer, "values of unknown keys of the whole"});
  if (elsewhere > 0) {
    lost.push_back(
        {elsewhere, "values of unknown keys of segments, blocks, frames and host events"});
  }
  if (file.skipped_values > 0) {
    lost.push_back({file.skipped_values, "values that were skipped when the file was read"});
  }
}

}  // namespace

std::optional<FileFormat> format_named(std::string_view name) noexcept {
  const auto known = std::find(kNames.begin(), kNames.end(), name);
  if (known == kNames.end()) return std::nullopt;
  return static_cast<FileFormat>(known - kNames.begin());
}

std::string_view format_name(FileFormat format) noexcept {
  return kNames[static_cast<std::size_t>(format)];
}

std::string format_names() {
  std::string text;
  for (const std::string_view name : kNames) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

FileFormat format_of_path(std::string_view path) noexcept {
  if (path.ends_with(".slt")) return FileFormat::slt;
  if (path.ends_with(".trace.json")) return FileFormat::chrome;
  if (path.ends_with(".json")) return FileFormat::json;
  if (path.ends_with(".pb.gz") || path.ends_with(".pprof")) return FileFormat::pprof;
  if (path.ends_with(".folded")) return FileFormat::folded;
  return FileFormat::pickle;
}

std::vector<Loss> losses(const SnapshotFile& file, FileFormat format) {
  std::vector<Loss> lost;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) lost.push_back({count, what});
  };
  const Snapshot& snapshot = file.snapshot;
  add_unread(file, lost);
  const std::vector<record::Action>& actions = snapshot.events.action;
  add(static_cast<std::uint64_t>(
          std::count(actions.begin(), actions.end(), record::Action::annotate)),
      "labels of allocs that a later annotate may have replaced");
  add(static_cast<std::uint64_t>(
          std::count_if(file.annotations.begin(), file.annotations.end(),
                        [](const Annotation& mark) { return mark.stage == Stage::other; })),
      "stages of annotations that are neither START nor END");
  if (is_dictionary(format)) return lost;
  if (format == FileFormat::pprof || format == FileFormat::folded) {
    add(snapshot.events.count(), "events: their order and times");
    add(file.annotations.size(), "annotations");
  }
  add(snapshot.segments.count(), "segments");
  add(file.settings == "{}" ? 0 : 1, "allocator settings");
  add(file.host_events.count(), "events of host memory");
  add(file.host_segments.count(), "segments of host memory");
  add(file.extras.size(), "values of events that have no column");
  if (format == FileFormat::chrome) {
    add(snapshot.stacks.size(), "stacks, but for the line of each");
  }
  if (format == FileFormat::folded)
    add(snapshot.events.count() > 0 ? 1 : 0, "labels and operations");
  return lost;
}

void write_file(const SnapshotFile& file, const std::string& path, FileFormat format,
                const ProfileOptions& profile) {
  switch (format) {
    case FileFormat::pickle:
      return write_pickle(file, path);
    case FileFormat::slt:
      return write_native(file, path);
    case FileFormat::json:
      return write_json(file, path);
    case FileFormat::pprof:
      return write_pprof(file, path, profile);
    case FileFormat::folded:
      return write_folded(file, path, profile);
    case FileFormat::chrome:
      return write_chrome_trace(file, path, profile);
  }
}

}  // namespace strandline::snapshot
