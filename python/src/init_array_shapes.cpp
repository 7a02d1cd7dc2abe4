// SPDX-License-Identifier: Apache-2.0
// Topic: operations on arrays that change shapes or move elements.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;

std::vector<Array> list_of(const char* function, nb::handle arrays) {
  std::vector<Array> parts;
  for (nb::handle one : arrays) parts.push_back(operand_of(function, one));
  return parts;
}

std::vector<Array> split(nb::object a, nb::object parts, std::int64_t axis) {
  const Array whole = operand_of("split", a);
  const int along = axis_of("split", axis);
  if (PyIndex_Check(parts.ptr()) != 0) {
    return array::split(whole, integer_of("split", "parts", parts), along);
  }
  std::vector<std::int64_t> at;
  for (nb::handle index : parts) at.push_back(integer_of("split", "index", index));
  return array::split(whole, at, along);
}

// An int for all axes, a pair for all axes, or a pair for each.
std::vector<std::pair<std::int64_t, std::int64_t>> widths_of(const Array& a, nb::handle widths) {
  using Width = std::pair<std::int64_t, std::int64_t>;
  if (PyIndex_Check(widths.ptr()) != 0) {
    const std::int64_t each = integer_of("pad", "width", widths);
    return std::vector<Width>(a.ndim(), {each, each});
  }
  Width one;
  if (nb::try_cast(widths, one)) return std::vector<Width>(a.ndim(), one);
  std::vector<Width> all;
  if (nb::try_cast(widths, all)) return all;
  throw TypeMismatch(error_message("pad", "widths", nb::cast<std::string>(nb::repr(widths)),
                                   "an int, a pair of ints, or a pair for each axis"));
}

void def_views(nb::module_& m) {
  m.def(
      "reshape",
      [](nb::object a, nb::object shape) {
        return array::reshape(operand_of("reshape", a), shape_of("reshape", shape));
      },
      nb::arg("a"), nb::arg("shape"), "Another shape; one extent may be -1.");
  m.def(
      "transpose",
      [](nb::object a, nb::object axes) {
        return array::transpose(operand_of("transpose", a), axes_of("transpose", axes));
      },
      nb::arg("a"), nb::arg("axes") = nb::none(), "Axes in another order, reversed unless said.");
  m.def(
      "swapaxes",
      [](const Array& a, std::int64_t first, std::int64_t second) {
        return array::swapaxes(a, axis_of("swapaxes", first), axis_of("swapaxes", second));
      },
      nb::arg("a"), nb::arg("first"), nb::arg("second"), "Two axes exchanged.");
  m.def(
      "moveaxis",
      [](const Array& a, std::int64_t source, std::int64_t to) {
        return array::moveaxis(a, axis_of("moveaxis", source), axis_of("moveaxis", to));
      },
      nb::arg("a"), nb::arg("source"), nb::arg("to"), "One axis moved, the others in order.");
  m.def(
      "broadcast_to",
      [](nb::object a, nb::object shape) {
        return array::broadcast_to(operand_of("broadcast_to", a), shape_of("broadcast_to", shape));
      },
      nb::arg("a"), nb::arg("shape"), "Spread over a shape.");
  m.def(
      "expand_dims",
      [](nb::object a, nb::object axis) {
        return array::expand_dims(operand_of("expand_dims", a), *axes_of("expand_dims", axis));
      },
      nb::arg("a"), nb::arg("axis"), "New axes of extent 1, counted in the result.");
  m.def(
      "squeeze",
      [](nb::object a, nb::object axis) {
        return array::squeeze(operand_of("squeeze", a), axes_of("squeeze", axis));
      },
      nb::arg("a"), nb::arg("axis") = nb::none(), "Without axes of extent 1, all unless said.");
  m.def(
      "flatten", [](nb::object a) { return array::flatten(operand_of("flatten", a)); },
      nb::arg("a"), "Along one axis, row by row.");
}

}  // namespace

void init_array_shapes(nb::module_& m) {
  def_views(m);
  m.def("split", &split, nb::arg("a"), nb::arg("parts"), nb::arg("axis") = 0,
        "Equal parts, or parts that end before each index.");
  m.def(
      "concatenate",
      [](nb::object arrays, std::int64_t axis) {
        return array::concatenate(list_of("concatenate", arrays), axis_of("concatenate", axis));
      },
      nb::arg("arrays"), nb::arg("axis") = 0, "One after another along an axis.");
  m.def(
      "stack",
      [](nb::object arrays, std::int64_t axis) {
        return array::stack(list_of("stack", arrays), axis_of("stack", axis));
      },
      nb::arg("arrays"), nb::arg("axis") = 0, "One beside another along a new axis.");
  m.def(
      "pad",
      [](nb::object a, nb::object widths, nb::object value) {
        const Array inner = operand_of("pad", a);
        return array::pad(inner, widths_of(inner, widths), operand_of("pad", value, inner.dtype()));
      },
      nb::arg("a"), nb::arg("widths"), nb::arg("value") = nb::int_(0),
      "More elements before and after, of one value.");
  m.def(
      "take",
      [](nb::object a, nb::object indices, std::optional<std::int64_t> axis) {
        return array::take(operand_of("take", a), operand_of("take", indices),
                           axis ? std::optional(axis_of("take", *axis)) : std::nullopt);
      },
      nb::arg("a"), nb::arg("indices"), nb::arg("axis") = nb::none(),
      "Elements at indices along an axis; of all elements without one.");
  m.def(
      "scatter_add",
      [](const Array& a, nb::object indices, nb::object updates, std::int64_t axis) {
        return array::scatter_add(a, {operand_of("scatter_add", indices)},
                                  operand_of("scatter_add", updates, a.dtype()),
                                  {axis_of("scatter_add", axis)});
      },
      nb::arg("a"), nb::arg("indices"), nb::arg("updates"), nb::arg("axis") = 0,
      "a with updates added at indices along an axis; the updates' first axes are the indices'.");
}

}  // namespace strandline::python
