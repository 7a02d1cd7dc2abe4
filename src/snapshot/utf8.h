// SPDX-License-Identifier: Apache-2.0
// UTF-8: validity, repair, and how many columns a text takes in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strandline::snapshot {

/// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_valid_utf8(std::string_view text) noexcept;
/// `text` with U+FFFD in place of every byte that belongs to no valid character.
std::string repaired_utf8(std::string_view text);
/// Characters of valid UTF-8, each taken for one column.
std::size_t width_of(std::string_view text) noexcept;
/// The first characters of `text` that fit into `width` columns, the last one being "…" where some
/// had to go.
std::string cut_to_width(std::string_view text, std::size_t width);

}  // namespace strandline::snapshot
