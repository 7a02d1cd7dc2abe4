// SPDX-License-Identifier: Apache-2.0
// UTF-8 by its table of well-formed byte sequences.
#include "snapshot/utf8.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

/// Bytes of the valid character at the start of `text`, 0 when there is none.
std::size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
  if (first < 0xE0) return 2;
  if (!follows(2)) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (!follows(3)) return 0;
  const bool overlong = first == 0xF0 && byte(1) < 0x90;
  const bool too_large = first == 0xF4 && byte(1) > 0x8F;
  return overlong || too_large ? 0 : 4;
}

/// The number of a valid character of one to three bytes.
std::uint32_t code_point(std::string_view character) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(character[i]); };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
  return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
}

/// Controls (C0, DEL, C1), line and paragraph separators, embeddings and overrides of direction.
bool is_control(std::uint32_t point) noexcept {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0x200E || point == 0x200F;
}

std::string escape(std::uint32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\t') return "\\t";
  if (point == '\r') return "\\r";
  return point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    if (bytes == 0) {
      shown += escape(static_cast<std::uint8_t>(character.front()));
    } else if (bytes < 4 && is_control(code_point(character))) {
      shown += escape(code_point(character));
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

bool is_valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) {
      repaired += "\xEF\xBF\xBD";
    } else {
      repaired.append(text.substr(0, bytes));
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return repaired;
}

std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<std::uint8_t>(byte) & 0xC0U) != 0x80U;
  }));
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t bytes = 0;
  for (std::size_t columns = 0; columns + 1 < width; ++columns) {
    bytes += std::max<std::size_t>(character_bytes(text.substr(bytes)), 1);
  }
  return std::string(text.substr(0, bytes)) + "…";
}

}  // namespace strandline::snapshot
