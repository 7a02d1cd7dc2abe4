// SPDX-License-Identifier: Apache-2.0
// Half-width floats to and from float32. Every case is computed and one is chosen, without a
// branch, so that loops over them vectorise.
#pragma once

#include <bit>
#include <cstdint>

#include "strandline/array/dtype.h"

namespace strandline::array::half {

inline std::uint16_t float16_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Subnormal: adding 0.5 aligns the bits that stay with the end of the mantissa, and rounds.
  const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
  const std::uint32_t tiny = std::bit_cast<std::uint32_t>(aligned) - 0x3F000000U;
  const std::uint32_t odd = magnitude >> 13 & 1U;
  const std::uint32_t rounded = (magnitude - 0x38000000U + 0xFFFU + odd) >> 13;
  const std::uint32_t finite = magnitude < 0x38800000U ? tiny : rounded;
  const std::uint32_t number = magnitude >= 0x477FF000U ? 0x7C00U : finite;
  const std::uint32_t result = magnitude > 0x7F800000U ? 0x7E00U : number;
  return static_cast<std::uint16_t>(sign | result);
}

inline std::uint16_t bfloat16_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const std::uint32_t quiet = bits >> 16 | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded);
}

inline float float_of_float16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  const float tiny = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  const std::uint32_t number = (magnitude << 13) + 0x38000000U;
  const std::uint32_t finite = magnitude < 0x400U ? std::bit_cast<std::uint32_t>(tiny) : number;
  const std::uint32_t special = magnitude << 13 | 0x7F800000U;
  return std::bit_cast<float>(sign | (magnitude >= 0x7C00U ? special : finite));
}

}  // namespace strandline::array::half
