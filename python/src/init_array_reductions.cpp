// SPDX-License-Identifier: Apache-2.0
// Topic: reductions of arrays, as functions and as methods.

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

KeepDims keep_of(bool keep) {
  return keep ? KeepDims::yes : KeepDims::no;
}

std::optional<int> one_axis(const char* function, nb::handle axis) {
  if (axis.is_none()) return std::nullopt;
  return (*axes_of(function, nb::make_tuple(axis)))[0];
}

void def_reduction(nb::module_& m, const char* name, Reduction function, const char* text) {
  const auto call = [name, function](nb::object a, nb::object axis, bool keepdims) {
    return function(operand_of(name, a), axes_of(name, axis), keep_of(keepdims));
  };
  m.def(name, call, nb::arg("a"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false, text);
}

void def_arg_reduction(nb::module_& m, const char* name, ArgReduction function, const char* text) {
  const auto call = [name, function](nb::object a, nb::object axis, bool keepdims) {
    return function(operand_of(name, a), one_axis(name, axis), keep_of(keepdims));
  };
  m.def(name, call, nb::arg("a"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false, text);
}

}  // namespace

void init_array_reductions(nb::module_& m) {
  def_reduction(m, "sum", array::sum,
                "Over an axis, several, or all; bool is counted in int32, uint8 in uint32.");
  def_reduction(m, "prod", array::prod, "The product over an axis, several, or all.");
  def_reduction(m, "mean", array::mean, "The mean over an axis, several, or all.");
  def_reduction(m, "max", array::max, "The largest over an axis, several, or all.");
  def_reduction(m, "min", array::min, "The smallest over an axis, several, or all.");
  def_reduction(m, "logsumexp", array::logsumexp, "log(sum(exp(a))) over axes, without overflow.");
  def_arg_reduction(m, "argmax", array::argmax, "Index of the first largest, uint32.");
  def_arg_reduction(m, "argmin", array::argmin, "Index of the first smallest, uint32.");
  m.def(
      "var",
      [](nb::object a, nb::object axis, bool keepdims, int ddof) {
        return array::var(operand_of("var", a), axes_of("var", axis), keep_of(keepdims), ddof);
      },
      nb::arg("a"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false, nb::arg("ddof") = 0,
      "The variance over axes, divided by n - ddof.");
  m.def(
      "softmax",
      [](nb::object a, nb::object axis) {
        return array::softmax(operand_of("softmax", a), axes_of("softmax", axis));
      },
      nb::arg("a"), nb::arg("axis") = nb::none(), "exp(a) / sum(exp(a)) over axes.");
}

}  // namespace strandline::python
