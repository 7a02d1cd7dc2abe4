// SPDX-License-Identifier: Apache-2.0
// Kernels that need a whole line of elements at once.
#include <algorithm>
#include <cmath>
#include <span>

#include "array/kernels/kernels.h"
#include "array/kernels/lines.h"

namespace strandline::array {
namespace {

// The first element that equals `best`, which is among them; the first NaN when it is one.
template <typename T>
std::size_t place_of(T best, std::span<const T> values) {
  constexpr std::size_t kBlock = 64;
  const bool is_nan = best != best;
  for (std::size_t first = 0;; first += kBlock) {
    const std::size_t end = std::min(values.size(), first + kBlock);
    int found = 0;
    for (std::size_t i = first; i < end; ++i) {
      found |= is_nan ? values[i] != values[i] : values[i] == best;
    }
    if (found == 0) continue;
    const auto matches = [&](T value) { return is_nan ? value != value : value == best; };
    while (!matches(values[first])) ++first;
    return first;
  }
}

template <typename T>
std::uint32_t best_of(FoldLoop fold, std::span<const T> values) {
  T best = values[0];
  fold(values.data(), &best, values.size());
  return static_cast<std::uint32_t>(place_of(best, values));
}

template <typename T>
void arg_reduce_as(ReduceOp op, const Operand& in, std::size_t axis, const Operand& out) {
  const FoldLoop fold = fold_loop(op, kDtypeOf<T>);
  Lines<T>(in, {axis}, out).fold_each([&](std::span<const T> values) {
    return best_of(fold, values);
  });
}

// Turns values into exponentials of their distance from the highest, which is returned: NaN where
// one of them is.
template <typename T>
T to_exponentials(std::span<T> values, T& total) {
  T highest = values[0];
  fold_loop(ReduceOp::maximum, kDtypeOf<T>)(values.data(), &highest, values.size());
  for (T& value : values) value = std::exp(value - highest);
  total = T{0};
  fold_loop(ReduceOp::sum, kDtypeOf<T>)(values.data(), &total, values.size());
  return highest;
}

template <typename T>
void softmax_as(const Operand& in, AxisSet axes, const Operand& out) {
  Lines<T>(in, axes, out).change_each([](std::span<T> values) {
    T total{};
    to_exponentials(values, total);
    for (T& value : values) value /= total;
  });
}

template <typename T>
void log_sum_exp_as(const Operand& in, AxisSet axes, const Operand& out) {
  Lines<T>(in, axes, out).fold_each([](std::span<T> values) {
    T total{};
    const T highest = to_exponentials(values, total);
    return std::isinf(highest) ? highest : highest + std::log(total);
  });
}

}  // namespace

void run_arg_reduce(ReduceOp op, const Operand& in, std::size_t axis, const Operand& out) {
  switch (in.dtype) {
    case Dtype::float64:
      return arg_reduce_as<double>(op, in, axis, out);
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::float32:
      return arg_reduce_as<float>(op, in, axis, out);
    default:
      return arg_reduce_as<std::int64_t>(op, in, axis, out);
  }
}

void run_softmax(const Operand& in, AxisSet axes, const Operand& out) {
  in.dtype == Dtype::float64 ? softmax_as<double>(in, axes, out) : softmax_as<float>(in, axes, out);
}

void run_log_sum_exp(const Operand& in, AxisSet axes, const Operand& out) {
  in.dtype == Dtype::float64 ? log_sum_exp_as<double>(in, axes, out)
                             : log_sum_exp_as<float>(in, axes, out);
}

}  // namespace strandline::array
