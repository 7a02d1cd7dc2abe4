// SPDX-License-Identifier: Apache-2.0
// Integers past 64 bits as decimal text.
#pragma once

#include <string>
#include <string_view>

namespace strandline::snapshot {

/// Of two's complement, little-endian. Past `kMostWideBytes` it is hexadecimal: "0x…".
std::string decimal_of_little_endian(std::string_view bytes, bool negative);

inline constexpr std::size_t kMostWideBytes = 256;

}  // namespace strandline::snapshot
