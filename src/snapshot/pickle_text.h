// SPDX-License-Identifier: Apache-2.0
// The line-based values of pickle protocol 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strandline::snapshot {

std::optional<std::uint64_t> decimal_number(std::string_view digits) noexcept;
std::optional<double> decimal_real(std::string_view text) noexcept;

/// Of STRING: quotes off, backslash escapes resolved; unknown escapes stay as they are.
std::string unquoted_string(std::string_view line);
/// Of UNICODE: \uXXXX and \UXXXXXXXX resolved, every other byte is a Latin-1 character.
std::string unescaped_unicode(std::string_view line);

}  // namespace strandline::snapshot
