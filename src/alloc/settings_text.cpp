// SPDX-License-Identifier: Apache-2.0
#include "settings_text.h"

#include <charconv>
#include <cmath>

namespace strandline::alloc {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::vector<SettingsWord> settings_words(std::string_view text) {
  constexpr std::string_view kSeparators = ",:[]";
  std::vector<SettingsWord> words;
  bool is_open = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_space(c)) continue;
    const bool is_separator = kSeparators.find(c) != std::string_view::npos;
    if (!is_open || is_separator) words.push_back({.text = {}, .position = at});
    words.back().text += c;
    is_open = !is_separator;
  }
  return words;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> real_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  return number;
}

}  // namespace strandline::alloc
