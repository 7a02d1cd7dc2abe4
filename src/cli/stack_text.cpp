// SPDX-License-Identifier: Apache-2.0
// Texts of the verbs.
#include "cli/stack_text.h"

#include <array>

#include <fmt/format.h>

#include "strandline/snapshot/printable.h"

namespace strandline::cli {

using Json = nlohmann::ordered_json;

Json location_json(const std::optional<snapshot::Location>& place) {
  if (!place) return nullptr;
  return {{"file", place->file}, {"line", place->line}, {"function", place->function}};
}

Json stack_json(const std::vector<snapshot::Location>& stack) {
  Json frames = Json::array();
  for (const snapshot::Location& place : stack) frames.push_back(location_json(place));
  return frames;
}

std::string line_text(const std::optional<snapshot::Location>& place) {
  if (!place) return "(no line)";
  return snapshot::printable(fmt::format("{}:{} {}", place->file, place->line, place->function));
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string growth_text(std::int64_t bytes) {
  const std::uint64_t magnitude =
      bytes < 0 ? ~static_cast<std::uint64_t>(bytes) + 1 : static_cast<std::uint64_t>(bytes);
  return (bytes < 0 ? "-" : "+") + bytes_text(magnitude);
}

}  // namespace strandline::cli
