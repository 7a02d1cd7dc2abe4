// SPDX-License-Identifier: Apache-2.0
// Topic: reductions of arrays, as functions and as methods.

#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "array_topics.h"
#include "array_values.h"

namespace strandline::python {
namespace {

using array::Array;
using array::Axes;
using array::KeepDims;
using Reduction = Array (*)(const Array&, const Axes&, KeepDims);
using ArgReduction = Array (*)(const Array&, std::optional<int>, KeepDims);

KeepDims keep_of(const char* function, nb::handle keepdims) {
  return truth_of(function, "keepdims", keepdims) ? KeepDims::yes : KeepDims::no;
}

std::optional<int> one_axis(const char* function, nb::handle axis) {
  return axis.is_none() ? std::nullopt : std::optional(axis_of(function, axis));
}

constexpr const char* kParameters = ", axis: AxesLike | None = None, keepdims: bool = False";
constexpr const char* kOneAxis =
    ", axis: typing.SupportsIndex | None = None, keepdims: bool = False";

// As a function, and as a method of the same name.
template <typename Call>
void def_both(nb::module_& m, ArrayClass& array, const char* name, const char* parameters,
              const Call& call, const char* text) {
  const std::string rest = parameters;
  m.def(name, call, value_arg("a"), nb::arg("axis") = nb::none(),
        nb::arg("keepdims").none() = false, nb::sig(signature(name, "a: ArrayLike" + rest).c_str()),
        text);
  array.def(name, call, nb::arg("axis") = nb::none(), nb::arg("keepdims").none() = false,
            nb::sig(signature(name, "self" + rest).c_str()), text);
}

void def_reduction(nb::module_& m, ArrayClass& array, const char* name, Reduction function,
                   const char* text) {
  const auto call = [name, function](nb::handle a, nb::handle axis, nb::handle keepdims) {
    return function(operand_of(name, "a", a), axes_of(name, axis), keep_of(name, keepdims));
  };
  def_both(m, array, name, kParameters, call, text);
}

void def_arg_reduction(nb::module_& m, ArrayClass& array, const char* name, ArgReduction function,
                       const char* text) {
  const auto call = [name, function](nb::handle a, nb::handle axis, nb::handle keepdims) {
    return function(operand_of(name, "a", a), one_axis(name, axis), keep_of(name, keepdims));
  };
  def_both(m, array, name, kOneAxis, call, text);
}

void def_var(nb::module_& m, ArrayClass& array) {
  constexpr const char* kText =
      "The variance over an axis, several, or all, divided by n - ddof; a float. ValueError for "
      "an\n"
      "axis that is not there.";
  const auto call = [](nb::handle a, nb::handle axis, nb::handle keepdims, nb::handle ddof) {
    return array::var(operand_of("var", "a", a), axes_of("var", axis), keep_of("var", keepdims),
                      int_of("var", "ddof", ddof));
  };
  const std::string rest = std::string(kParameters) + ", ddof: int = 0";
  m.def("var", call, value_arg("a"), nb::arg("axis") = nb::none(),
        nb::arg("keepdims").none() = false, nb::arg("ddof").none() = 0,
        nb::sig(signature("var", "a: ArrayLike" + rest).c_str()), kText);
  array.def("var", call, nb::arg("axis") = nb::none(), nb::arg("keepdims").none() = false,
            nb::arg("ddof").none() = 0, nb::sig(signature("var", "self" + rest).c_str()), kText);
}

}  // namespace

void init_array_reductions(nb::module_& m, ArrayClass& array) {
  def_reduction(
      m, array, "sum", array::sum,
      "The sum over an axis, several, or all; bool is counted in int32, uint8 in uint32.\n"
      "keepdims leaves axes of extent 1. ValueError for an axis that is not there.");
  def_reduction(m, array, "prod", array::prod,
                "The product over an axis, several, or all; dtypes as for sum.");
  def_reduction(m, array, "mean", array::mean,
                "The mean over an axis, several, or all; of integers a float32.");
  def_reduction(m, array, "max", array::max,
                "The largest over an axis, several, or all; NaN if one is. ValueError for an axis\n"
                "without elements.");
  def_reduction(
      m, array, "min", array::min,
      "The smallest over an axis, several, or all; NaN if one is. ValueError for an axis\n"
      "without elements.");
  def_reduction(m, array, "logsumexp", array::logsumexp,
                "log(sum(exp(a))) over an axis, several, or all, without overflow; a float.");
  def_arg_reduction(m, array, "argmax", array::argmax,
                    "Index of the first largest along an axis, or of all elements; uint32.");
  def_arg_reduction(m, array, "argmin", array::argmin,
                    "Index of the first smallest along an axis, or of all elements; uint32.");
  def_var(m, array);
  m.def(
      "softmax",
      [](nb::handle a, nb::handle axis) {
        return array::softmax(operand_of("softmax", "a", a), axes_of("softmax", axis));
      },
      value_arg("a"), nb::arg("axis") = nb::none(),
      nb::sig(signature("softmax", "a: ArrayLike, axis: AxesLike | None = None").c_str()),
      "exp(a) / sum(exp(a)) over an axis, several, or all, without overflow; of its shape.");
}

}  // namespace strandline::python
