// SPDX-License-Identifier: Apache-2.0
// Parts of answers.
#include "snapshot/answer_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {

Json location_json(const std::optional<Location>& place) {
  if (!place) return nullptr;
  return {{"file", place->file}, {"line", place->line}, {"function", place->function}};
}

Json stack_json(const std::vector<Location>& stack) {
  Json frames = Json::array();
  for (const Location& place : stack) frames.push_back(location_json(place));
  return frames;
}

Json held_json(const Held& held) {
  return {{"bytes", held.bytes}, {"blocks", held.blocks}};
}

Json place_json(const Place& place) {
  return {{"stream", place.stream},
          {"pool", {place.pool.first, place.pool.second}},
          {"kind", place.is_small ? "small" : "large"}};
}

Json pins_json(const std::vector<Pin>& pins, std::size_t top) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(top, pins.size()); ++i) {
    list.push_back({{"line", location_json(pins[i].line)},
                    {"bytes", pins[i].held.bytes},
                    {"requested_bytes", pins[i].held.requested},
                    {"blocks", pins[i].held.blocks}});
  }
  return list;
}

Json totals_json(const StateTotals& totals) {
  return {{"reserved_bytes", totals.reserved},
          {"live_bytes", totals.live},
          {"requested_bytes", totals.requested},
          {"outside_bytes", totals.outside},
          {"free_bytes", totals.free},
          {"holes", totals.holes},
          {"largest_hole_bytes", totals.largest_hole}};
}

Json facts_json(const ReplayFacts& facts) {
  return {{"lost_blocks", facts.lost_blocks},
          {"unknown_frees", facts.unknown_frees},
          {"segment_conflicts", facts.segment_conflicts}};
}

std::string document_text(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string line_text(const std::optional<Location>& place) {
  if (!place) return "(no line)";
  std::string_view file = place->file;
  const std::size_t last = file.rfind('/');
  if (last != std::string_view::npos && last > 0) {
    const std::size_t before = file.rfind('/', last - 1);
    if (before != std::string_view::npos) file.remove_prefix(before + 1);
  }
  return printable(fmt::format("{}:{} {}", file, place->line, place->function));
}

std::string signed_size_text(std::int64_t bytes) {
  const std::uint64_t magnitude =
      bytes < 0 ? ~static_cast<std::uint64_t>(bytes) + 1 : static_cast<std::uint64_t>(bytes);
  return (bytes < 0 ? "-" : "+") + size_text(magnitude);
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", with_commas(count), count == 1 ? one : many);
}

std::string pins_text(const std::vector<Pin>& pins, std::size_t indent, std::size_t top) {
  std::string text;
  Held rest;
  for (std::size_t i = 0; i < pins.size(); ++i) {
    const Held& held = pins[i].held;
    if (i >= top && pins.size() > top + 1) {
      rest += held;
      continue;
    }
    text += fmt::format("{:{}}{:>12} {:>12}  {}\n", "", indent, size_text(held.bytes),
                        counted(held.blocks, "block", "blocks"), line_text(pins[i].line));
  }
  if (rest.blocks > 0) {
    text += fmt::format("{:{}}{:>12} {:>12}  … {} more lines\n", "", indent, size_text(rest.bytes),
                        counted(rest.blocks, "block", "blocks"), pins.size() - top);
  }
  return text;
}

}  // namespace strandline::snapshot
