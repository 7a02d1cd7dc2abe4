// SPDX-License-Identifier: Apache-2.0
// Topic: creation and elementwise operations on arrays.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "array_topics.h"
#include "array_values.h"

namespace strandline::python {
namespace {

using array::Array;
using array::Dtype;
using UnaryFunction = Array (*)(const Array&);
using BinaryFunction = Array (*)(const Array&, const Array&);

void def_unary(nb::module_& m, const char* name, UnaryFunction function, const char* text) {
  m.def(
      name, [name, function](nb::handle a) { return function(operand_of(name, "a", a)); },
      value_arg("a"), nb::sig(signature(name, "a: ArrayLike").c_str()), text);
}

// As a method too, which MLX has of these.
void def_unary_both(nb::module_& m, ArrayClass& array, const char* name, UnaryFunction function,
                    const char* text) {
  def_unary(m, name, function, text);
  array.def(
      name, [function](const Array& a) { return function(a); },
      nb::sig(signature(name, "self").c_str()), text);
}

void def_binary(nb::module_& m, const char* name, BinaryFunction function, const char* text) {
  m.def(
      name,
      [name, function](nb::handle a, nb::handle b) {
        const auto [left, right] = operands_of(name, a, b);
        return function(left, right);
      },
      value_arg("a"), value_arg("b"),
      nb::sig(signature(name, "a: ArrayLike, b: ArrayLike").c_str()), text);
}

Array arange(nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype) {
  const nb::int_ zero(0);
  if (stop.is_none()) {
    stop = start;
    start = zero;
  }
  const std::optional<Dtype> asked = dtype_or_none("arange", dtype);
  const auto is_integer = [](nb::handle value) { return PyIndex_Check(value.ptr()) != 0; };
  if (is_integer(start) && is_integer(stop) && is_integer(step)) {
    const std::int64_t from = integer_of("arange", "start", start);
    const std::int64_t to = integer_of("arange", "stop", stop);
    const bool is_small = std::in_range<std::int32_t>(from) && std::in_range<std::int32_t>(to);
    return array::arange(from, to, integer_of("arange", "step", step),
                         asked.value_or(is_small ? Dtype::int32 : Dtype::int64));
  }
  return array::arange(real_of("arange", "start", start), real_of("arange", "stop", stop),
                       real_of("arange", "step", step), asked.value_or(Dtype::float32));
}

using Filled = Array (*)(const array::Shape&, Dtype);

void def_filled(nb::module_& m, const char* name, Filled function, const char* text) {
  m.def(
      name,
      [name, function](nb::handle shape, nb::handle dtype) {
        return function(shape_of(name, shape), dtype_or_none(name, dtype).value_or(Dtype::float32));
      },
      value_arg("shape"), nb::arg("dtype") = nb::none(),
      nb::sig(signature(name, "shape: ShapeLike, dtype: DtypeLike | None = None").c_str()), text);
}

Array eye(nb::handle n, nb::handle m_columns, nb::handle k, nb::handle dtype) {
  const std::int64_t rows = integer_of("eye", "n", n);
  const std::int64_t columns = m_columns.is_none() ? rows : integer_of("eye", "m", m_columns);
  return array::eye(rows, columns, int_of("eye", "k", k),
                    dtype_or_none("eye", dtype).value_or(Dtype::float32));
}

void def_creation(nb::module_& m) {
  def_filled(
      m, "zeros", [](const array::Shape& s, Dtype d) { return array::zeros(s, d); },
      "Zeros of a shape, float32 unless said.");
  def_filled(
      m, "ones", [](const array::Shape& s, Dtype d) { return array::ones(s, d); },
      "Ones of a shape, float32 unless said.");
  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype) {
        const Array filling = operand_of("full", "value", value);
        return array::full(shape_of("full", shape), filling,
                           dtype_or_none("full", dtype).value_or(filling.dtype()));
      },
      value_arg("shape"), value_arg("value"), nb::arg("dtype") = nb::none(),
      nb::sig(
          signature("full", "shape: ShapeLike, value: ArrayLike, dtype: DtypeLike | None = None")
              .c_str()),
      "A value, which broadcasts to the shape, spread over it; of the value's dtype unless said.");
  def_unary(m, "zeros_like", array::zeros_like, "Zeros of its shape and dtype.");
  def_unary(m, "ones_like", array::ones_like, "Ones of its shape and dtype.");
  m.def("arange", &arange, value_arg("start"), nb::arg("stop") = nb::none(),
        nb::arg("step").none() = nb::int_(1), nb::arg("dtype") = nb::none(),
        nb::sig(signature("arange",
                          "start: float, stop: float | None = None, step: float = 1,"
                          " dtype: DtypeLike | None = None")
                    .c_str()),
        "start, start + step, … before stop; with one argument from 0 to it. int32 of integers\n"
        "that fit, int64 of larger ones, float32 of floats. ValueError for a step of 0 and for "
        "bounds\n"
        "that are not finite.");
  m.def("eye", &eye, value_arg("n"), nb::arg("m") = nb::none(), nb::arg("k").none() = 0,
        nb::arg("dtype") = nb::none(),
        nb::sig(signature("eye",
                          "n: int, m: int | None = None, k: int = 0,"
                          " dtype: DtypeLike | None = None")
                    .c_str()),
        "Ones on the k-th diagonal of n rows and m columns, n unless said.");
}

// Each of the shape of a; integers become float32 where the values are real.
void def_unaries(nb::module_& m, ArrayClass& array) {
  def_unary(m, "negative", array::negative, "-a");
  def_unary_both(m, array, "abs", array::abs, "|a|");
  def_unary(m, "sign", array::sign, "-1, 0 or 1.");
  def_unary_both(m, array, "square", array::square, "a * a");
  def_unary(m, "logical_not", array::logical_not, "Whether it is 0.");
  def_unary_both(m, array, "exp", array::exp, "e to the power of a; integers become float32.");
  def_unary_both(m, array, "log", array::log, "The natural logarithm; integers become float32.");
  def_unary_both(m, array, "sqrt", array::sqrt, "The square root; integers become float32.");
  def_unary_both(m, array, "rsqrt", array::rsqrt, "1 / sqrt(a)");
  def_unary(m, "tanh", array::tanh, "The hyperbolic tangent.");
  def_unary(m, "sigmoid", array::sigmoid, "1 / (1 + exp(-a))");
  def_unary(m, "erf", array::erf, "The error function.");
  def_unary(m, "erfinv", array::erfinv, "The inverse of the error function.");
  def_unary_both(m, array, "sin", array::sin, "The sine of radians.");
  def_unary_both(m, array, "cos", array::cos, "The cosine of radians.");
  def_unary(m, "floor", array::floor, "The largest integer not above.");
  def_unary(m, "ceil", array::ceil, "The smallest integer not below.");
  def_unary_both(m, array, "round", array::round, "The nearest integer, the even one of two.");
  def_unary(m, "stop_gradient", array::stop_gradient, "The same values, without a gradient.");
  def_unary(m, "contiguous", array::contiguous, "The same values, row by row in memory.");
}

// Operands broadcast, dtypes are promoted; ValueError for shapes that do not broadcast.
void def_binaries(nb::module_& m) {
  def_binary(m, "add", array::add, "a + b; they broadcast, and dtypes are promoted.");
  def_binary(m, "subtract", array::subtract, "a - b");
  def_binary(m, "multiply", array::multiply, "a * b");
  def_binary(m, "divide", array::divide, "The real quotient; integers become float32.");
  def_binary(m, "floor_divide", array::floor_divide, "a // b; of integers by 0 it is 0.");
  def_binary(m, "remainder", array::remainder, "a % b, of the sign of b.");
  def_binary(m, "power", array::power, "a ** b");
  def_binary(m, "maximum", array::maximum, "The larger; NaN if one is.");
  def_binary(m, "minimum", array::minimum, "The smaller; NaN if one is.");
  def_binary(m, "logaddexp", array::logaddexp, "log(exp(a) + exp(b))");
  def_binary(m, "equal", array::equal, "a == b");
  def_binary(m, "not_equal", array::not_equal, "a != b");
  def_binary(m, "less", array::less, "a < b");
  def_binary(m, "less_equal", array::less_equal, "a <= b");
  def_binary(m, "greater", array::greater, "a > b");
  def_binary(m, "greater_equal", array::greater_equal, "a >= b");
  def_binary(m, "logical_and", array::logical_and, "Whether neither is 0.");
  def_binary(m, "logical_or", array::logical_or, "Whether one is not 0.");
  def_binary(
      m, "matmul", array::matmul,
      "The matrix product over the last two axes, as NumPy has it; the axes before broadcast.");
}

}  // namespace

void init_array_operations(nb::module_& m, ArrayClass& array) {
  def_creation(m);
  def_unaries(m, array);
  def_binaries(m);
  m.def(
      "where",
      [](nb::handle condition, nb::handle a, nb::handle b) {
        const auto [left, right] = operands_of("where", a, b);
        return array::where(operand_of("where", "condition", condition), left, right);
      },
      value_arg("condition"), value_arg("a"), value_arg("b"),
      nb::sig(signature("where", "condition: ArrayLike, a: ArrayLike, b: ArrayLike").c_str()),
      "a where the condition is not 0, else b; the three broadcast.");
  m.def(
      "clip",
      [](nb::handle value, nb::handle low, nb::handle high) {
        const Array a = operand_of("clip", "a", value);
        const auto bound = [&](const char* what, nb::handle given) {
          return given.is_none() ? std::nullopt
                                 : std::optional(operand_of("clip", what, given, a.dtype()));
        };
        return array::clip(a, bound("low", low), bound("high", high));
      },
      value_arg("a"), nb::arg("low") = nb::none(), nb::arg("high") = nb::none(),
      nb::sig(signature("clip",
                        "a: ArrayLike, low: ArrayLike | None = None,"
                        " high: ArrayLike | None = None")
                  .c_str()),
      "a within the bounds that are given; the three broadcast.");
  m.def(
      "astype",
      [](nb::handle a, nb::handle dtype) {
        return array::astype(operand_of("astype", "a", a), dtype_of("astype", dtype));
      },
      value_arg("a"), value_arg("dtype"),
      nb::sig(signature("astype", "a: ArrayLike, dtype: DtypeLike").c_str()),
      "Converted: floats to integers towards zero, anything to bool by != 0.");
  m.def("matmul_library", &array::matmul_library,
        "What multiplies float matrices: OpenBLAS with its version, or plain loops.");
}

}  // namespace strandline::python
