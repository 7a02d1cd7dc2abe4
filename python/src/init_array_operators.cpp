// SPDX-License-Identifier: Apache-2.0
// Topic: Python's operators on arrays. The in-place ones give a new array under the same name.

#include <nanobind/nanobind.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;
using BinaryFunction = Array (*)(const Array&, const Array&);

template <BinaryFunction Function>
Array forward(const char* name, const Array& self, nb::handle other) {
  return Function(self, operand_of(name, other, self.dtype()));
}

template <BinaryFunction Function>
void def_pair(ArrayClass& array, const char* name, const char* reflected, const char* in_place) {
  array.def(
      name, [name](const Array& a, nb::object b) { return forward<Function>(name, a, b); },
      nb::is_operator());
  array.def(
      reflected,
      [name](const Array& a, nb::handle b) { return Function(operand_of(name, b, a.dtype()), a); },
      nb::is_operator());
  array.def(
      in_place, [name](const Array& a, nb::object b) { return forward<Function>(name, a, b); },
      nb::is_operator());
}

template <BinaryFunction Function>
void def_comparison(ArrayClass& array, const char* name, const char* signature) {
  array.def(
      name, [name](const Array& a, nb::object b) { return forward<Function>(name, a, b); },
      nb::sig(signature));
}

// MLX takes these for bits of integers, which arrays here have no operations on.
void check_truth(const char* function, const Array& a) {
  if (a.dtype() == array::Dtype::bool_) return;
  throw TypeMismatch(error_message(function, "dtype", array::dtype_name(a.dtype()), "bool"));
}

Array both(const Array& a, const Array& b) {
  check_truth("&", a);
  check_truth("&", b);
  return array::logical_and(a, b);
}

Array either(const Array& a, const Array& b) {
  check_truth("|", a);
  check_truth("|", b);
  return array::logical_or(a, b);
}

Array all_but(const Array& a) {
  check_truth("~", a);
  return array::logical_not(a);
}

}  // namespace

void init_array_operators(ArrayClass& array) {
  def_pair<array::add>(array, "__add__", "__radd__", "__iadd__");
  def_pair<array::subtract>(array, "__sub__", "__rsub__", "__isub__");
  def_pair<array::multiply>(array, "__mul__", "__rmul__", "__imul__");
  def_pair<array::divide>(array, "__truediv__", "__rtruediv__", "__itruediv__");
  def_pair<array::floor_divide>(array, "__floordiv__", "__rfloordiv__", "__ifloordiv__");
  def_pair<array::remainder>(array, "__mod__", "__rmod__", "__imod__");
  def_pair<array::power>(array, "__pow__", "__rpow__", "__ipow__");
  def_pair<array::matmul>(array, "__matmul__", "__rmatmul__", "__imatmul__");
  def_pair<both>(array, "__and__", "__rand__", "__iand__");
  def_pair<either>(array, "__or__", "__ror__", "__ior__");
  def_comparison<array::equal>(array, "__eq__", "def __eq__(self, b: object) -> Array");
  def_comparison<array::not_equal>(array, "__ne__", "def __ne__(self, b: object) -> Array");
  def_comparison<array::less>(array, "__lt__", "def __lt__(self, b: object) -> Array");
  def_comparison<array::less_equal>(array, "__le__", "def __le__(self, b: object) -> Array");
  def_comparison<array::greater>(array, "__gt__", "def __gt__(self, b: object) -> Array");
  def_comparison<array::greater_equal>(array, "__ge__", "def __ge__(self, b: object) -> Array");
  array.def("__neg__", &array::negative)
      .def("__abs__", &array::abs)
      .def("__invert__", &all_but, "Of truth values.");
}

}  // namespace strandline::python
