// SPDX-License-Identifier: Apache-2.0
// The inner loops of elementwise kernels: adjacent elements of one C++ type, in and out. What has
// strides, or is a half-width float, is brought into that form in chunks that stay in the first
// cache (chunks.h), so that there is one loop for each operation and type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "strandline/array/dtype.h"

// Reads of element i come before its write, also where operand and result are one: loops may be
// vectorised without asking whether they overlap.
#if defined(__clang__)
#define STRANDLINE_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define STRANDLINE_VECTORISE _Pragma("GCC ivdep")
#endif

namespace strandline::array {

enum class UnaryOp : std::uint8_t {
  negate,
  abs,
  sign,
  square,
  exp,
  log,
  sqrt,
  rsqrt,
  tanh,
  sigmoid,
  erf,
  erf_inv,
  sin,
  cos,
  floor,
  ceil,
  round,
  logical_not,
};

enum class BinaryOp : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  power,
  maximum,
  minimum,
  logaddexp,
  equal,  // from here on the result is bool
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
};

constexpr bool gives_bool(BinaryOp op) noexcept {
  return op >= BinaryOp::equal;
}

enum class ReduceOp : std::uint8_t { sum, product, maximum, minimum };

/// Half-width floats are computed in float32, bool as uint8, the rest as they are.
constexpr Dtype compute_dtype(Dtype dtype) noexcept {
  if (dtype == Dtype::float16 || dtype == Dtype::bfloat16) return Dtype::float32;
  return dtype == Dtype::bool_ ? Dtype::uint8 : dtype;
}

/// What `choose(std::type_identity<T>{})` gives for the C++ type T of a compute dtype.
template <typename Choose>
auto for_number(Dtype compute, const Choose& choose) noexcept {
  switch (compute) {
    case Dtype::uint8:
      return choose(std::type_identity<std::uint8_t>{});
    case Dtype::uint32:
      return choose(std::type_identity<std::uint32_t>{});
    case Dtype::int32:
      return choose(std::type_identity<std::int32_t>{});
    case Dtype::int64:
      return choose(std::type_identity<std::int64_t>{});
    case Dtype::float32:
      return choose(std::type_identity<float>{});
    default:
      return choose(std::type_identity<double>{});
  }
}
/// The same for the types of real numbers; null for the others.
template <typename Choose>
auto for_real(Dtype compute, const Choose& choose) noexcept {
  if (compute == Dtype::float32) return choose(std::type_identity<float>{});
  if (compute == Dtype::float64) return choose(std::type_identity<double>{});
  return decltype(choose(std::type_identity<double>{})){nullptr};
}

using UnaryLoop = void (*)(const void* in, void* out, std::size_t count);
using BinaryLoop = void (*)(const void* a, const void* b, void* out, std::size_t count);
/// Folds a run into `*total`.
using FoldLoop = void (*)(const void* in, void* total, std::size_t count);
/// Folds each element of a run into the one at its place.
using FoldInto = void (*)(const void* in, void* totals, std::size_t count);

/// Of a compute dtype; null where the operation has no meaning for it. Functions of real numbers
/// are for floats alone.
UnaryLoop unary_loop(UnaryOp op, Dtype compute) noexcept;
BinaryLoop binary_loop(BinaryOp op, Dtype compute) noexcept;
FoldLoop fold_loop(ReduceOp op, Dtype compute) noexcept;
FoldInto fold_into(ReduceOp op, Dtype compute) noexcept;
/// What a fold starts from, written as elements of the compute dtype.
void write_neutral(ReduceOp op, Dtype compute, void* to, std::size_t count) noexcept;

}  // namespace strandline::array
