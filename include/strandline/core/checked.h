// SPDX-License-Identifier: Apache-2.0
// Arithmetic on byte sizes that cannot wrap silently. The `checked_` forms throw InvalidArgument
// naming the operands; the `try_` forms return nothing instead.
#pragma once

#include <cstdint>
#include <optional>

#include "strandline/core/export.h"

namespace strandline {

constexpr std::optional<std::uint64_t> try_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<std::uint64_t> try_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The smallest multiple of `unit` that is >= `bytes`; nothing when it exceeds 64 bits or `unit` is
/// 0.
constexpr std::optional<std::uint64_t> try_round_up(std::uint64_t bytes,
                                                    std::uint64_t unit) noexcept {
  if (unit == 0) return std::nullopt;
  const std::uint64_t rest = bytes % unit;
  return rest == 0 ? std::optional(bytes) : try_add(bytes, unit - rest);
}

STRANDLINE_API std::uint64_t checked_add(std::uint64_t a, std::uint64_t b);
STRANDLINE_API std::uint64_t checked_multiply(std::uint64_t a, std::uint64_t b);
STRANDLINE_API std::uint64_t checked_round_up(std::uint64_t bytes, std::uint64_t unit);

}  // namespace strandline
