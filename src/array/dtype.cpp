// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/dtype.h"

#include <array>
#include <bit>
#include <string>

#include "strandline/core/error.h"

namespace strandline::array {
namespace {

constexpr std::array kSupported = {Dtype::bool_,    Dtype::uint8,   Dtype::uint32,
                                   Dtype::int32,    Dtype::int64,   Dtype::float16,
                                   Dtype::bfloat16, Dtype::float32, Dtype::float64};

// Of a kind, wider comes later.
int rank_of(Dtype dtype) noexcept {
  for (std::size_t i = 0; i < kSupported.size(); ++i) {
    if (kSupported[i] == dtype) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

bool is_supported(Dtype dtype) noexcept {
  return rank_of(dtype) >= 0;
}

Dtype dtype_named(std::string_view name) {
  for (const Dtype dtype : kSupported) {
    if (dtype_name(dtype) == name) return dtype;
  }
  std::string names;
  for (const Dtype dtype : kSupported) {
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(dtype));
  }
  throw InvalidArgument(
      error_message("dtype", "name", "'" + std::string(name) + "'", "one of " + names));
}

bool is_floating(Dtype dtype) noexcept {
  return rank_of(dtype) >= rank_of(Dtype::float16);
}

Dtype promote(Dtype a, Dtype b) noexcept {
  const Dtype wide = rank_of(a) >= rank_of(b) ? a : b;
  const Dtype narrow = wide == a ? b : a;
  if (wide == Dtype::bfloat16 && narrow == Dtype::float16) return Dtype::float32;
  if (wide == Dtype::int32 && narrow == Dtype::uint32) return Dtype::int64;
  return wide;
}

Dtype at_least_float(Dtype dtype) noexcept {
  return is_floating(dtype) ? dtype : Dtype::float32;
}

Float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return {static_cast<std::uint16_t>(sign | 0x7E00U)};
  if (magnitude >= 0x477FF000U) return {static_cast<std::uint16_t>(sign | 0x7C00U)};
  if (magnitude < 0x38800000U) {
    // Subnormal: adding 0.5 aligns the bits that stay with the end of the mantissa, and rounds.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    const std::uint32_t kept = std::bit_cast<std::uint32_t>(aligned) - 0x3F000000U;
    return {static_cast<std::uint16_t>(sign | kept)};
  }
  const std::uint32_t odd = magnitude >> 13 & 1U;
  const std::uint32_t rounded = magnitude - 0x38000000U + 0xFFFU + odd;
  return {static_cast<std::uint16_t>(sign | rounded >> 13)};
}

BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  }
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
}

float to_float(Float16 value) noexcept {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t exponent = value.bits >> 10 & 0x1FU;
  const std::uint32_t mantissa = value.bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float tiny = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(tiny));
}

}  // namespace strandline::array
