// SPDX-License-Identifier: Apache-2.0
// Escapes of protocol 0.
#include "snapshot/pickle_text.h"

#include <charconv>

namespace strandline::snapshot {
namespace {

void append_utf8(std::string& out, std::uint32_t point) {
  const auto byte = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xc0 | point >> 6);
    byte(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    byte(0xe0 | point >> 12);
    byte(0x80 | (point >> 6 & 0x3f));
    byte(0x80 | (point & 0x3f));
  } else {
    byte(0xf0 | point >> 18);
    byte(0x80 | (point >> 12 & 0x3f));
    byte(0x80 | (point >> 6 & 0x3f));
    byte(0x80 | (point & 0x3f));
  }
}

/// The number at the front of `text`, at most `digits` long; how many it took.
std::size_t number_at(std::string_view text, std::size_t digits, int base, std::uint32_t& value) {
  text = text.substr(0, digits);
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return end.ec == std::errc() ? static_cast<std::size_t>(end.ptr - text.data()) : 0;
}

/// Resolves the escape whose letter is at the front; how many characters it took, 0 for none.
std::size_t unescape(std::string_view text, std::string& out) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
  if (text.empty()) return 0;
  const std::size_t letter = kLetters.find(text.front());
  if (letter != std::string_view::npos) {
    out += kMeanings[letter];
    return 1;
  }
  std::uint32_t value = 0;
  if (text.front() == 'x' && number_at(text.substr(1), 2, 16, value) == 2) {
    out += static_cast<char>(value);
    return 3;
  }
  if (const std::size_t taken = number_at(text, 3, 8, value); taken > 0) {
    out += static_cast<char>(value);
    return taken;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> decimal_number(std::string_view digits) noexcept {
  std::uint64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> decimal_real(std::string_view text) noexcept {
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::invalid_argument || end.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string unquoted_string(std::string_view line) {
  const bool quoted = line.size() >= 2 && line.front() == line.back() &&
                      (line.front() == '\'' || line.front() == '"');
  if (quoted) line = line.substr(1, line.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t taken = line[i] == '\\' ? unescape(line.substr(i + 1), out) : 0;
    if (taken == 0) out += line[i];
    i += taken;
  }
  return out;
}

std::string unescaped_unicode(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
    const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    std::uint32_t point = 0;
    if (digits > 0 && number_at(line.substr(i + 2), digits, 16, point) == digits &&
        point <= 0x10ffff) {
      append_utf8(out, point);
      i += 1 + digits;
    } else {
      append_utf8(out, static_cast<unsigned char>(line[i]));
    }
  }
  return out;
}

}  // namespace strandline::snapshot
