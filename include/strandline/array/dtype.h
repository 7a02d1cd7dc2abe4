// SPDX-License-Identifier: Apache-2.0
// Element types of arrays: bool, uint8, uint32, int32, int64, float16, bfloat16, float32, float64;
// the names are those of the record. Promotion follows MLX.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "strandline/core/export.h"
#include "strandline/record/layout.h"

namespace strandline::array {

using record::Dtype;
using record::dtype_name;
using record::dtype_size_bytes;

/// Whether arrays of it can be made.
STRANDLINE_API bool is_supported(Dtype dtype) noexcept;
/// The dtype of a name, "float32" or "bool". InvalidArgument for others.
STRANDLINE_API Dtype dtype_named(std::string_view name);
STRANDLINE_API bool is_floating(Dtype dtype) noexcept;
/// Whether an integer dtype has this number; true for all others.
STRANDLINE_API bool holds_integer(Dtype dtype, std::int64_t number) noexcept;
/// The dtype that an operation on both has: the wider of one kind; a float against an integer;
/// int64 for uint32 with int32; float32 for float16 with bfloat16.
STRANDLINE_API Dtype promote(Dtype a, Dtype b) noexcept;
/// float32 for integers and bool, else the dtype itself.
STRANDLINE_API Dtype at_least_float(Dtype dtype) noexcept;

/// float16 as its bits, IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits = 0;
  bool operator==(const Float16&) const = default;
};
/// bfloat16 as its bits: the upper half of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;
  bool operator==(const BFloat16&) const = default;
};
/// Rounds to nearest, ties to even.
STRANDLINE_API Float16 to_float16(float value) noexcept;
STRANDLINE_API BFloat16 to_bfloat16(float value) noexcept;
STRANDLINE_API float to_float(Float16 value) noexcept;
inline float to_float(BFloat16 value) noexcept {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  return __builtin_bit_cast(float, bits);
}

namespace detail {
template <typename T>
constexpr Dtype dtype_of() noexcept {
  if constexpr (std::is_same_v<T, bool>) return Dtype::bool_;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Dtype::uint8;
  if constexpr (std::is_same_v<T, std::uint32_t>) return Dtype::uint32;
  if constexpr (std::is_same_v<T, std::int32_t>) return Dtype::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::int64;
  if constexpr (std::is_same_v<T, Float16>) return Dtype::float16;
  if constexpr (std::is_same_v<T, BFloat16>) return Dtype::bfloat16;
  if constexpr (std::is_same_v<T, float>) return Dtype::float32;
  if constexpr (std::is_same_v<T, double>) return Dtype::float64;
  return Dtype::unknown;
}
}  // namespace detail

/// The dtype of a C++ type; unknown for types that arrays do not have.
template <typename T>
inline constexpr Dtype kDtypeOf = detail::dtype_of<T>();

template <typename T>
concept Element = kDtypeOf<T>
!= Dtype::unknown;

}  // namespace strandline::array
