// SPDX-License-Identifier: Apache-2.0
// Sums of sizes that a file claims: past 64 bits they wrap, as nothing true does, instead of being
// undefined.
#pragma once

#include <cstdint>

namespace strandline::snapshot {

constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrapping_subtract(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::uint64_t magnitude(std::int64_t number) noexcept {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}

}  // namespace strandline::snapshot
