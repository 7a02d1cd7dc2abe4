// SPDX-License-Identifier: Apache-2.0
// The words of a settings string, each with where it stood. White space counts for nothing, not
// even inside a word; `,` `:` `[` `]` are words of their own and end the one before.
//
//   max_split_size_mb : 64 , roundup_power2_divisions:[256:2,>:4]
//   ^0                  ^20  ^25                      ^50
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strandline::alloc {

struct SettingsWord {
  std::string text;
  std::size_t position = 0;  ///< of its first character, from 0

  [[nodiscard]] bool is(char separator) const { return text.size() == 1 && text[0] == separator; }
  [[nodiscard]] bool is_separator() const { return is(',') || is(':') || is('[') || is(']'); }
};

std::vector<SettingsWord> settings_words(std::string_view text);

// The whole text as a number, or nothing: no sign, no rest, no overflow.
std::optional<std::uint64_t> whole_number(std::string_view text);
std::optional<double> real_number(std::string_view text);

}  // namespace strandline::alloc
