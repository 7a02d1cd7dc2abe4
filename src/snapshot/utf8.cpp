// SPDX-License-Identifier: Apache-2.0
// UTF-8 by its table of well-formed byte sequences.
#include "snapshot/utf8.h"

#include <algorithm>
#include <cstdint>

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

}  // namespace

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
