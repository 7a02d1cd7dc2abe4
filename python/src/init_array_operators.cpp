// SPDX-License-Identifier: Apache-2.0
// Topic: Python's operators on arrays. Those in place give the object another array, as MLX has it:
// who else holds the object sees it, and memory that only the old array had is donated. What is no
// operand gets Python's own answer: its type is asked for the operation, else a TypeError.

#include <string>

#include <nanobind/nanobind.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;
using BinaryFunction = Array (*)(const Array&, const Array&);

/// `other` as the operand of an operator that belongs to an array of `like`.
Array operand_or_next(const char* function, nb::handle other, array::Dtype like) {
  if (!is_operand(other)) throw nb::next_overload();
  return operand_of(function, "operand", other, like);
}

template <BinaryFunction Function>
void def_pair(ArrayClass& array, const std::string& name, const char* function) {
  const auto def = [&](const char* prefix, const auto& call) {
    const std::string full = "__" + (prefix + name) + "__";
    array.def(full.c_str(), call, nb::is_operator(),
              nb::sig(signature(full.c_str(), "self, other: ArrayLike, /").c_str()));
  };
  def("", [function](const Array& a, nb::handle b) {
    return Function(a, operand_or_next(function, b, a.dtype()));
  });
  def("r", [function](const Array& a, nb::handle b) {
    return Function(operand_or_next(function, b, a.dtype()), a);
  });
  def("i", [function](nb::handle self, nb::handle b) {
    Array& held = nb::cast<Array&>(self);
    held = Function(held, operand_or_next(function, b, held.dtype()));
    return self;
  });
}

template <BinaryFunction Function>
void def_comparison(ArrayClass& array, const char* name, const char* function) {
  // Python's own typing has `object` here.
  array.def(
      name,
      [function](const Array& a, nb::handle b) {
        return Function(a, operand_or_next(function, b, a.dtype()));
      },
      nb::is_operator(), nb::sig(signature(name, "self, other: object, /").c_str()));
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
  def_pair<array::add>(array, "add", "add");
  def_pair<array::subtract>(array, "sub", "subtract");
  def_pair<array::multiply>(array, "mul", "multiply");
  def_pair<array::divide>(array, "truediv", "divide");
  def_pair<array::floor_divide>(array, "floordiv", "floor_divide");
  def_pair<array::remainder>(array, "mod", "remainder");
  def_pair<array::power>(array, "pow", "power");
  def_pair<array::matmul>(array, "matmul", "matmul");
  def_pair<both>(array, "and", "&");
  def_pair<either>(array, "or", "|");
  def_comparison<array::equal>(array, "__eq__", "equal");
  def_comparison<array::not_equal>(array, "__ne__", "not_equal");
  def_comparison<array::less>(array, "__lt__", "less");
  def_comparison<array::less_equal>(array, "__le__", "less_equal");
  def_comparison<array::greater>(array, "__gt__", "greater");
  def_comparison<array::greater_equal>(array, "__ge__", "greater_equal");
  array.def("__neg__", &array::negative, nb::sig("def __neg__(self) -> Array"))
      .def("__abs__", &array::abs, nb::sig("def __abs__(self) -> Array"))
      .def("__invert__", &all_but, nb::sig("def __invert__(self) -> Array"), "Of truth values.");
}

}  // namespace strandline::python
