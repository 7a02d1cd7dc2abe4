// SPDX-License-Identifier: Apache-2.0
#include "array/cast.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "array/half.h"
#include "array/kernels/chunk.h"
#include "array/kernels/loops.h"

namespace strandline::array {
namespace {

template <typename T>
void gather_as(const std::byte* from, std::int64_t stride, std::byte* to,
               std::size_t count) noexcept {
  const T* in = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  if (stride == 0) {
    std::fill_n(out, count, *in);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = in[static_cast<std::int64_t>(i) * stride];
}

template <typename T>
void scatter_as(const std::byte* from, std::byte* to, std::int64_t stride,
                std::size_t count) noexcept {
  const T* in = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) out[static_cast<std::int64_t>(i) * stride] = in[i];
}

// What does not fit an integer type has no value in C++; here it saturates, and NaN is 0.
template <typename To, typename From>
To convert(From value) noexcept {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<From>(std::numeric_limits<To>::max());
    // Chosen, not branched to: loops over it vectorise where the processor has the conversion.
    const To inside = static_cast<To>(value >= kLow && value < kHigh ? value : From{0});
    const To above = value >= kHigh ? std::numeric_limits<To>::max() : inside;
    return value < kLow ? std::numeric_limits<To>::min() : above;
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void cast_run(const void* from, void* to, std::size_t count) noexcept {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  STRANDLINE_VECTORISE
  for (std::size_t i = 0; i < count; ++i) out[i] = convert<To>(in[i]);
}

template <typename From>
void cast_from(const void* from, Dtype to_dtype, void* to, std::size_t count) noexcept {
  switch (to_dtype) {
    case Dtype::bool_:
      return cast_run<From, bool>(from, to, count);
    case Dtype::uint8:
      return cast_run<From, std::uint8_t>(from, to, count);
    case Dtype::uint32:
      return cast_run<From, std::uint32_t>(from, to, count);
    case Dtype::int32:
      return cast_run<From, std::int32_t>(from, to, count);
    case Dtype::int64:
      return cast_run<From, std::int64_t>(from, to, count);
    case Dtype::float32:
      return cast_run<From, float>(from, to, count);
    default:
      return cast_run<From, double>(from, to, count);
  }
}

void widen(const std::byte* from, Dtype from_dtype, float* to, std::size_t count) noexcept {
  const auto* in = reinterpret_cast<const std::uint16_t*>(from);
  if (from_dtype == Dtype::float16) {
    STRANDLINE_VECTORISE
    for (std::size_t i = 0; i < count; ++i) to[i] = half::float_of_float16(in[i]);
  } else {
    STRANDLINE_VECTORISE
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float(BFloat16{in[i]});
  }
}

void narrow(const float* from, Dtype to_dtype, std::byte* to, std::size_t count) noexcept {
  auto* out = reinterpret_cast<std::uint16_t*>(to);
  if (to_dtype == Dtype::float16) {
    STRANDLINE_VECTORISE
    for (std::size_t i = 0; i < count; ++i) out[i] = half::float16_bits(from[i]);
  } else {
    STRANDLINE_VECTORISE
    for (std::size_t i = 0; i < count; ++i) out[i] = half::bfloat16_bits(from[i]);
  }
}

bool is_half(Dtype dtype) noexcept {
  return dtype == Dtype::float16 || dtype == Dtype::bfloat16;
}

void cast_full(Dtype from_dtype, const void* from, Dtype to_dtype, void* to,
               std::size_t count) noexcept {
  switch (from_dtype) {
    case Dtype::bool_:
    case Dtype::uint8:
      return cast_from<std::uint8_t>(from, to_dtype, to, count);
    case Dtype::uint32:
      return cast_from<std::uint32_t>(from, to_dtype, to, count);
    case Dtype::int32:
      return cast_from<std::int32_t>(from, to_dtype, to, count);
    case Dtype::int64:
      return cast_from<std::int64_t>(from, to_dtype, to, count);
    case Dtype::float32:
      return cast_from<float>(from, to_dtype, to, count);
    default:
      return cast_from<double>(from, to_dtype, to, count);
  }
}

// By way of float32, a chunk at a time.
void cast_half(Dtype from_dtype, const std::byte* from, Dtype to_dtype, std::byte* to,
               std::size_t count) noexcept {
  std::array<float, kChunk> middle;
  const std::size_t from_bytes = dtype_size_bytes(from_dtype);
  const std::size_t to_bytes = dtype_size_bytes(to_dtype);
  for (std::size_t done = 0; done < count; done += kChunk) {
    const std::size_t part = std::min(kChunk, count - done);
    const std::byte* in = from + done * from_bytes;
    std::byte* out = to + done * to_bytes;
    if (is_half(from_dtype)) {
      widen(in, from_dtype, middle.data(), part);
    } else {
      cast_full(from_dtype, in, Dtype::float32, middle.data(), part);
    }
    if (is_half(to_dtype)) {
      narrow(middle.data(), to_dtype, out, part);
    } else {
      cast_full(Dtype::float32, middle.data(), to_dtype, out, part);
    }
  }
}

// Calls `function` with an unsigned number as wide as an element.
template <typename Function>
void with_item(std::size_t item_bytes, const Function& function) noexcept {
  switch (item_bytes) {
    case 1:
      return function(std::uint8_t{});
    case 2:
      return function(std::uint16_t{});
    case 4:
      return function(std::uint32_t{});
    default:
      return function(std::uint64_t{});
  }
}

}  // namespace

void gather(std::size_t item_bytes, const std::byte* from, std::int64_t stride, std::byte* to,
            std::size_t count) noexcept {
  if (stride == 1) {
    std::memcpy(to, from, count * item_bytes);
    return;
  }
  with_item(item_bytes, [&](auto item) { gather_as<decltype(item)>(from, stride, to, count); });
}

void scatter(std::size_t item_bytes, const std::byte* from, std::byte* to, std::int64_t stride,
             std::size_t count) noexcept {
  if (stride == 1) {
    std::memcpy(to, from, count * item_bytes);
    return;
  }
  with_item(item_bytes, [&](auto item) { scatter_as<decltype(item)>(from, to, stride, count); });
}

void cast_elements(Dtype from_dtype, const void* from, Dtype to_dtype, void* to,
                   std::size_t count) noexcept {
  if (from_dtype == to_dtype) {
    std::memcpy(to, from, count * dtype_size_bytes(from_dtype));
  } else if (is_half(from_dtype) || is_half(to_dtype)) {
    cast_half(from_dtype, static_cast<const std::byte*>(from), to_dtype,
              static_cast<std::byte*>(to), count);
  } else {
    cast_full(from_dtype, from, to_dtype, to, count);
  }
}

}  // namespace strandline::array
