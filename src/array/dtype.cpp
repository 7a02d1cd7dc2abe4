// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/dtype.h"

#include <array>
#include <string>
#include <utility>

#include "array/half.h"
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

bool holds_integer(Dtype dtype, std::int64_t number) noexcept {
  switch (dtype) {
    case Dtype::uint8:
      return std::in_range<std::uint8_t>(number);
    case Dtype::uint32:
      return std::in_range<std::uint32_t>(number);
    case Dtype::int32:
      return std::in_range<std::int32_t>(number);
    default:
      return true;
  }
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
  return {half::float16_bits(value)};
}

BFloat16 to_bfloat16(float value) noexcept {
  return {half::bfloat16_bits(value)};
}

float to_float(Float16 value) noexcept {
  return half::float_of_float16(value.bits);
}

}  // namespace strandline::array
