// SPDX-License-Identifier: Apache-2.0
// --events and --time: which part of a file is read.
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/verb.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/read_progress.h"

namespace strandline::cli {
namespace {

using snapshot::TimeBound;

/// The two sides of "A:B"; throws CLI::ValidationError without the colon.
std::pair<std::string_view, std::string_view> sides(std::string_view option,
                                                    std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    throw CLI::ValidationError(
        fmt::format("{} \"{}\": expected A:B, where either side may be empty", option, text));
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::optional<std::uint64_t> event_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  if (const auto [rest, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && rest == end) {
    return number;
  }
  throw CLI::ValidationError(
      fmt::format("--events: \"{}\" is no number of an event: 0, 1, 2, …", text));
}

std::optional<TimeBound> time_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char* const end = text.data() + text.size();
  TimeBound bound;
  if (const auto [rest, error] = std::from_chars(text.data(), end, bound.us);
      error == std::errc() && rest == end) {
    return bound;
  }
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double scale = unit == "s" ? 1e6 : unit == "ms" ? 1e3 : unit == "us" ? 1 : 0;
  if (error == std::errc() && scale > 0 && number >= 0 && number * scale < 1e18) {
    bound.us = std::llround(number * scale);
    bound.since_start = true;
    return bound;
  }
  throw CLI::ValidationError(fmt::format(
      "--time: \"{}\" is no moment: Unix microseconds, or since the start as 1.5s or 20ms", text));
}

}  // namespace

void add_range(CLI::App& verb, FileOptions& options) {
  verb.add_option_function<std::string>(
          "--events",
          [&options](const std::string& text) {
            const auto [first, end] = sides("--events", text);
            options.range.first_event = event_of(first);
            options.range.end_event = event_of(end);
          },
          "only events A to B, without B, of each trace; what came before is known by its allocs")
      ->type_name("A:B");
  verb.add_option_function<std::string>(
          "--time",
          [&options](const std::string& text) {
            const auto [from, until] = sides("--time", text);
            options.range.from = time_of(from);
            options.range.until = time_of(until);
          },
          "only events from A to before B: Unix microseconds, or since the start as 1.5s, 20ms")
      ->type_name("A:B");
}

snapshot::ReadRange range_of(const FileOptions& options) {
  snapshot::ReadRange range = options.range;
  range.device = options.device_number();
  return range;
}

snapshot::SnapshotFile load(const FileOptions& options) {
  Progress::reading(0, 0);
  snapshot::SnapshotFile file =
      snapshot::read_snapshot(options.file, range_of(options), &Progress::reading);
  Progress::working();
  for (const std::string& note : snapshot::take_reading_notes()) {
    Progress::say(note);
  }
  return file;
}

}  // namespace strandline::cli
