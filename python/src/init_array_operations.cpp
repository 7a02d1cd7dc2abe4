// SPDX-License-Identifier: Apache-2.0
// Topic: creation and elementwise operations on arrays.

#include <cstdint>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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
      name, [name, function](nb::object a) { return function(operand_of(name, a)); }, nb::arg("a"),
      text);
}

void def_binary(nb::module_& m, const char* name, BinaryFunction function, const char* text) {
  m.def(
      name,
      [name, function](nb::object a, nb::object b) {
        const auto [left, right] = operands_of(name, a, b);
        return function(left, right);
      },
      nb::arg("a"), nb::arg("b"), text);
}

// Of Python or NumPy.
bool is_integer(nb::handle value) {
  return PyIndex_Check(value.ptr()) != 0;
}

Array arange(nb::object start, nb::object stop, nb::object step, nb::object dtype) {
  if (stop.is_none()) {
    stop = start;
    start = nb::int_(0);
  }
  const std::optional<Dtype> asked = dtype_or_none("arange", dtype);
  if (is_integer(start) && is_integer(stop) && is_integer(step)) {
    const std::int64_t from = integer_of("arange", "start", start);
    const std::int64_t to = integer_of("arange", "stop", stop);
    const bool is_small = std::in_range<std::int32_t>(from) && std::in_range<std::int32_t>(to);
    return array::arange(from, to, integer_of("arange", "step", step),
                         asked.value_or(is_small ? Dtype::int32 : Dtype::int64));
  }
  return array::arange(nb::cast<double>(nb::float_(start)), nb::cast<double>(nb::float_(stop)),
                       nb::cast<double>(nb::float_(step)), asked.value_or(Dtype::float32));
}

void def_creation(nb::module_& m) {
  m.def(
      "zeros",
      [](nb::object shape, nb::object dtype) {
        return array::zeros(shape_of("zeros", shape),
                            dtype_or_none("zeros", dtype).value_or(Dtype::float32));
      },
      nb::arg("shape"), nb::arg("dtype") = nb::none(), "Zeros, float32 unless said.");
  m.def(
      "ones",
      [](nb::object shape, nb::object dtype) {
        return array::ones(shape_of("ones", shape),
                           dtype_or_none("ones", dtype).value_or(Dtype::float32));
      },
      nb::arg("shape"), nb::arg("dtype") = nb::none(), "Ones, float32 unless said.");
  m.def(
      "full",
      [](nb::object shape, nb::object value, nb::object dtype) {
        const Array filling = operand_of("full", value);
        return array::full(shape_of("full", shape), filling,
                           dtype_or_none("full", dtype).value_or(filling.dtype()));
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype") = nb::none(),
      "A value spread over a shape.");
  m.def(
      "zeros_like", [](const Array& a) { return array::zeros_like(a); }, nb::arg("a"),
      "Zeros of its shape and dtype.");
  m.def(
      "ones_like", [](const Array& a) { return array::ones_like(a); }, nb::arg("a"),
      "Ones of its shape and dtype.");
  m.def(
      "arange", &arange, nb::arg("start"), nb::arg("stop") = nb::none(),
      nb::arg("step") = nb::int_(1), nb::arg("dtype") = nb::none(),
      "start, start + step, … before stop; with one argument from 0 to it. int32 of integers that "
      "fit, int64 of larger ones, float32 of floats.");
  m.def(
      "eye",
      [](std::int64_t n, std::optional<std::int64_t> m_columns, int k, nb::object dtype) {
        return array::eye(n, m_columns.value_or(n), k,
                          dtype_or_none("eye", dtype).value_or(Dtype::float32));
      },
      nb::arg("n"), nb::arg("m") = nb::none(), nb::arg("k") = 0, nb::arg("dtype") = nb::none(),
      "Ones on the k-th diagonal of n rows and m columns.");
}

void def_unaries(nb::module_& m) {
  def_unary(m, "negative", array::negative, "-a");
  def_unary(m, "abs", array::abs, "|a|");
  def_unary(m, "sign", array::sign, "-1, 0 or 1.");
  def_unary(m, "square", array::square, "a * a");
  def_unary(m, "logical_not", array::logical_not, "Whether it is 0.");
  def_unary(m, "exp", array::exp, "e to the power of a.");
  def_unary(m, "log", array::log, "The natural logarithm.");
  def_unary(m, "sqrt", array::sqrt, "The square root.");
  def_unary(m, "rsqrt", array::rsqrt, "1 / sqrt(a)");
  def_unary(m, "tanh", array::tanh, "The hyperbolic tangent.");
  def_unary(m, "sigmoid", array::sigmoid, "1 / (1 + exp(-a))");
  def_unary(m, "erf", array::erf, "The error function.");
  def_unary(m, "erfinv", array::erfinv, "The inverse of the error function.");
  def_unary(m, "sin", array::sin, "The sine of radians.");
  def_unary(m, "cos", array::cos, "The cosine of radians.");
  def_unary(m, "floor", array::floor, "The largest integer not above.");
  def_unary(m, "ceil", array::ceil, "The smallest integer not below.");
  def_unary(m, "round", array::round, "The nearest integer, the even one of two.");
  def_unary(m, "stop_gradient", array::stop_gradient, "The same values, without a gradient.");
  def_unary(m, "contiguous", array::contiguous, "The same values, row by row in memory.");
}

void def_binaries(nb::module_& m) {
  def_binary(m, "add", array::add, "a + b");
  def_binary(m, "subtract", array::subtract, "a - b");
  def_binary(m, "multiply", array::multiply, "a * b");
  def_binary(m, "divide", array::divide, "The real quotient.");
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
  def_binary(m, "matmul", array::matmul, "The matrix product, as NumPy has it.");
}

}  // namespace

void init_array_operations(nb::module_& m) {
  def_creation(m);
  def_unaries(m);
  def_binaries(m);
  m.def(
      "where",
      [](nb::object condition, nb::object a, nb::object b) {
        const auto [left, right] = operands_of("where", a, b);
        return array::where(operand_of("where", condition), left, right);
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"), "a where the condition holds, else b.");
  m.def(
      "clip",
      [](nb::object value, nb::object low, nb::object high) {
        const Array a = operand_of("clip", value);
        const auto bound = [&](nb::handle given) {
          return given.is_none() ? std::nullopt
                                 : std::optional(operand_of("clip", given, a.dtype()));
        };
        return array::clip(a, bound(low), bound(high));
      },
      nb::arg("a"), nb::arg("low") = nb::none(), nb::arg("high") = nb::none(),
      "a within the bounds that are given.");
  m.def(
      "astype",
      [](nb::object a, nb::object dtype) {
        return array::astype(operand_of("astype", a), dtype_of("astype", dtype));
      },
      nb::arg("a"), nb::arg("dtype"),
      "Converted: floats to integers towards zero, anything to bool by != 0.");
  m.def("matmul_library", &array::matmul_library, "What multiplies float matrices.");
}

}  // namespace strandline::python
