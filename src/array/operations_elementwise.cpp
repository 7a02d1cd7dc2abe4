// SPDX-License-Identifier: Apache-2.0
// Elementwise operations and creation: operands promoted, broadcast, made nodes.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "array/operation_checks.h"
#include "array/primitives.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

Array unary(UnaryOp op, const Array& a, Dtype result) {
  return make_node<Unary>(a.shape(), result, node_inputs(a), op);
}

Array real_function(UnaryOp op, const Array& a) {
  const Array real = astype(a, at_least_float(a.dtype()));
  return unary(op, real, real.dtype());
}

Array rounding(UnaryOp op, const Array& a) {
  return is_floating(a.dtype()) ? unary(op, a, a.dtype()) : a;
}

// Arithmetic of truth values stays with them.
BinaryOp of_bools(BinaryOp op) noexcept {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::maximum:
      return BinaryOp::logical_or;
    case BinaryOp::multiply:
    case BinaryOp::minimum:
      return BinaryOp::logical_and;
    case BinaryOp::subtract:
      return BinaryOp::not_equal;
    default:
      return op;
  }
}

Array binary(const char* function, BinaryOp op, const Array& a, const Array& b, Dtype dtype) {
  const Shape shape = broadcast_shapes(function, a.shape(), b.shape());
  if (dtype == Dtype::bool_) op = of_bools(op);
  const Dtype result = gives_bool(op) ? Dtype::bool_ : dtype;
  return make_node<Binary>(
      shape, result,
      node_inputs(broadcast_to(astype(a, dtype), shape), broadcast_to(astype(b, dtype), shape)),
      op);
}

Array promoted(const char* function, BinaryOp op, const Array& a, const Array& b) {
  return binary(function, op, a, b, promote(a.dtype(), b.dtype()));
}

std::int64_t as_integer(double number) {
  if (number >= -0x1p63 && number < 0x1p63) return static_cast<std::int64_t>(number);
  throw InvalidArgument(
      error_message("arange", "number", fmt::format("{}", number), "an integer of 64 bits"));
}

// `count` integers. MLX lets those wrap that the dtype does not hold; nobody means that.
Array range(std::int64_t start, std::int64_t step, std::uint64_t count, Dtype dtype) {
  if (dtype == Dtype::bool_) {
    throw InvalidArgument(error_message("arange", "dtype", "bool", "a dtype of numbers"));
  }
  if (!std::in_range<std::int64_t>(count)) {
    throw InvalidArgument(
        error_message("arange", "elements", std::to_string(count), "fewer than 2^60"));
  }
  const Shape shape = {static_cast<std::int64_t>(count)};
  element_count("arange", shape);
  const auto last = static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                              (count - 1) * static_cast<std::uint64_t>(step));
  for (const std::int64_t element : {start, last}) {
    if (count == 0 || is_floating(dtype) || holds_integer(dtype, element)) continue;
    throw InvalidArgument(error_message("arange", "element", std::to_string(element),
                                        fmt::format("one that {} holds", dtype_name(dtype))));
  }
  return make_node<Arange>(shape, dtype, {}, start, step);
}

}  // namespace

// -- making ---------------------------------------------------------------------------------------

Array scalar(double value, Dtype dtype) {
  return Array::converted(&value, Dtype::float64, {}, dtype);
}

Array full(const Shape& shape, const Array& value, Dtype dtype) {
  element_count("full", shape);
  return make_node<Full>(shape, dtype,
                         node_inputs(spread("full", "value", astype(value, dtype), shape)));
}

Array full(const Shape& shape, const Array& value) {
  return full(shape, value, value.dtype());
}

Array zeros(const Shape& shape, Dtype dtype) {
  return full(shape, scalar(0, dtype), dtype);
}
Array ones(const Shape& shape, Dtype dtype) {
  return full(shape, scalar(1, dtype), dtype);
}
Array zeros_like(const Array& a) {
  return zeros(a.shape(), a.dtype());
}
Array ones_like(const Array& a) {
  return ones(a.shape(), a.dtype());
}

Array arange(double start, double stop, double step, Dtype dtype) {
  if (!(std::isfinite(start) && std::isfinite(stop) && std::isfinite(step)) || step == 0) {
    throw InvalidArgument(error_message("arange", "start, stop, step",
                                        fmt::format("{}, {}, {}", start, stop, step),
                                        "finite numbers, and a step that is not 0"));
  }
  const double count = std::max(std::ceil((stop - start) / step), 0.0);
  if (count > 0x1p53) {
    throw InvalidArgument(
        error_message("arange", "elements", fmt::format("{}", count), "fewer than 2^53"));
  }
  const auto extent = static_cast<std::int64_t>(count);
  if (is_floating(dtype)) return make_node<Arange>(Shape{extent}, dtype, {}, start, step);
  const double from = std::trunc(start);
  const double by = std::trunc(step);
  if (count > 0) as_integer(from + (count - 1) * by);
  return range(as_integer(from), as_integer(by), static_cast<std::uint64_t>(extent), dtype);
}

Array arange_of_integers(std::int64_t start, std::int64_t stop, std::int64_t step, Dtype dtype) {
  if (step == 0) {
    throw InvalidArgument(error_message("arange", "step", "0", "a number that is not 0"));
  }
  // Modulo 2^64: from start to stop it may be further than any int64.
  const auto distance = [](std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  const bool is_up = step > 0;
  if (is_up ? start >= stop : start <= stop) return range(start, step, 0, dtype);
  const std::uint64_t length = is_up ? distance(start, stop) : distance(stop, start);
  const std::uint64_t stride = is_up ? distance(0, step) : distance(step, 0);
  return range(start, step, (length - 1) / stride + 1, dtype);
}

Array eye(std::int64_t rows, std::int64_t columns, int diagonal, Dtype dtype) {
  element_count("eye", {rows, columns});
  const Array row = arange(0, rows, 1, Dtype::int64);
  const Array column = arange(0, columns, 1, Dtype::int64);
  const Array wanted = add(reshape(row, {rows, 1}), Array(std::int64_t{diagonal}));
  return astype(equal(wanted, reshape(column, {1, columns})), dtype);
}

// -- elementwise ----------------------------------------------------------------------------------

Array astype(const Array& a, Dtype dtype) {
  if (a.dtype() == dtype) return a;
  return make_node<AsType>(a.shape(), dtype, node_inputs(a));
}

Array negative(const Array& a) {
  if (a.dtype() == Dtype::bool_) {
    throw InvalidArgument(error_message("negative", "dtype", "bool",
                                        "a number; logical_not turns truth values around"));
  }
  return unary(UnaryOp::negate, a, a.dtype());
}
Array abs(const Array& a) {
  return a.dtype() == Dtype::bool_ ? a : unary(UnaryOp::abs, a, a.dtype());
}
Array sign(const Array& a) {
  return a.dtype() == Dtype::bool_ ? a : unary(UnaryOp::sign, a, a.dtype());
}
Array square(const Array& a) {
  return a.dtype() == Dtype::bool_ ? a : unary(UnaryOp::square, a, a.dtype());
}
Array logical_not(const Array& a) {
  return unary(UnaryOp::logical_not, a, Dtype::bool_);
}
Array exp(const Array& a) {
  return real_function(UnaryOp::exp, a);
}
Array log(const Array& a) {
  return real_function(UnaryOp::log, a);
}
Array sqrt(const Array& a) {
  return real_function(UnaryOp::sqrt, a);
}
Array rsqrt(const Array& a) {
  return real_function(UnaryOp::rsqrt, a);
}
Array tanh(const Array& a) {
  return real_function(UnaryOp::tanh, a);
}
Array sigmoid(const Array& a) {
  return real_function(UnaryOp::sigmoid, a);
}
Array erf(const Array& a) {
  return real_function(UnaryOp::erf, a);
}
Array erfinv(const Array& a) {
  return real_function(UnaryOp::erf_inv, a);
}
Array sin(const Array& a) {
  return real_function(UnaryOp::sin, a);
}
Array cos(const Array& a) {
  return real_function(UnaryOp::cos, a);
}
Array floor(const Array& a) {
  return rounding(UnaryOp::floor, a);
}
Array ceil(const Array& a) {
  return rounding(UnaryOp::ceil, a);
}
Array round(const Array& a) {
  return rounding(UnaryOp::round, a);
}

Array add(const Array& a, const Array& b) {
  return promoted("add", BinaryOp::add, a, b);
}
Array subtract(const Array& a, const Array& b) {
  return promoted("subtract", BinaryOp::subtract, a, b);
}
Array multiply(const Array& a, const Array& b) {
  return promoted("multiply", BinaryOp::multiply, a, b);
}
Array divide(const Array& a, const Array& b) {
  const Dtype dtype = at_least_float(promote(a.dtype(), b.dtype()));
  return binary("divide", BinaryOp::divide, a, b, dtype);
}
Array floor_divide(const Array& a, const Array& b) {
  return promoted("floor_divide", BinaryOp::floor_divide, a, b);
}
Array remainder(const Array& a, const Array& b) {
  return promoted("remainder", BinaryOp::remainder, a, b);
}
Array power(const Array& a, const Array& b) {
  return promoted("power", BinaryOp::power, a, b);
}
Array maximum(const Array& a, const Array& b) {
  return promoted("maximum", BinaryOp::maximum, a, b);
}
Array minimum(const Array& a, const Array& b) {
  return promoted("minimum", BinaryOp::minimum, a, b);
}
Array logaddexp(const Array& a, const Array& b) {
  const Dtype dtype = at_least_float(promote(a.dtype(), b.dtype()));
  return binary("logaddexp", BinaryOp::logaddexp, a, b, dtype);
}
Array equal(const Array& a, const Array& b) {
  return promoted("equal", BinaryOp::equal, a, b);
}
Array not_equal(const Array& a, const Array& b) {
  return promoted("not_equal", BinaryOp::not_equal, a, b);
}
Array less(const Array& a, const Array& b) {
  return promoted("less", BinaryOp::less, a, b);
}
Array less_equal(const Array& a, const Array& b) {
  return promoted("less_equal", BinaryOp::less_equal, a, b);
}
Array greater(const Array& a, const Array& b) {
  return promoted("greater", BinaryOp::greater, a, b);
}
Array greater_equal(const Array& a, const Array& b) {
  return promoted("greater_equal", BinaryOp::greater_equal, a, b);
}
Array logical_and(const Array& a, const Array& b) {
  return promoted("logical_and", BinaryOp::logical_and, a, b);
}
Array logical_or(const Array& a, const Array& b) {
  return promoted("logical_or", BinaryOp::logical_or, a, b);
}

Array where(const Array& condition, const Array& a, const Array& b) {
  const Dtype dtype = promote(a.dtype(), b.dtype());
  std::optional<Shape> shape = try_broadcast_shapes(a.shape(), b.shape());
  if (shape) shape = try_broadcast_shapes(condition.shape(), *shape);
  if (!shape) {
    throw InvalidArgument(
        error_message("where", "shapes",
                      fmt::format("{}, {} and {}", shape_text(condition.shape()),
                                  shape_text(a.shape()), shape_text(b.shape())),
                      "shapes that broadcast: from the right, extents equal or 1"));
  }
  return make_node<Select>(
      *shape, dtype,
      {broadcast_to(astype(condition, Dtype::bool_), *shape),
       broadcast_to(astype(a, dtype), *shape), broadcast_to(astype(b, dtype), *shape)});
}

Array clip(const Array& a, const std::optional<Array>& low, const std::optional<Array>& high) {
  if (!low && !high) {
    throw InvalidArgument(error_message("clip", "bounds", "none", "a low one, a high one or both"));
  }
  const Array raised = low ? promoted("clip", BinaryOp::maximum, a, *low) : a;
  return high ? promoted("clip", BinaryOp::minimum, raised, *high) : raised;
}

}  // namespace strandline::array
