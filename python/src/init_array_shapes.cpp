// SPDX-License-Identifier: Apache-2.0
// Topic: operations on arrays that change shapes or move elements.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;

std::vector<Array> list_of(const char* function, nb::handle arrays) {
  if (!is_list(arrays)) throw_type(function, "arrays", arrays, "a list or tuple of arrays");
  std::vector<Array> parts;
  for (nb::handle one : arrays) parts.push_back(operand_of(function, "arrays", one));
  return parts;
}

std::vector<Array> split(nb::handle a, nb::handle parts, nb::handle axis) {
  const Array whole = operand_of("split", "a", a);
  const int along = axis_of("split", axis);
  if (PyIndex_Check(parts.ptr()) != 0)
    return array::split(whole, integer_of("split", "parts", parts), along);
  if (!is_list(parts)) throw_type("split", "parts", parts, "an integer or a list of indices");
  std::vector<std::int64_t> at;
  for (nb::handle index : parts) at.push_back(integer_of("split", "parts", index));
  return array::split(whole, at, along);
}

using Width = std::pair<std::int64_t, std::int64_t>;

// A pair of ints, else none.
std::optional<Width> width_of(nb::handle pair) {
  if (!is_list(pair) || nb::len(pair) != 2) return std::nullopt;
  if (PyIndex_Check(nb::object(pair[0]).ptr()) == 0 ||
      PyIndex_Check(nb::object(pair[1]).ptr()) == 0) {
    return std::nullopt;
  }
  return Width{integer_of("pad", "widths", nb::object(pair[0])),
               integer_of("pad", "widths", nb::object(pair[1]))};
}

// An int for all axes, a pair for all axes, or a pair for each.
std::vector<Width> widths_of(const Array& a, nb::handle widths) {
  if (PyIndex_Check(widths.ptr()) != 0) {
    const std::int64_t each = integer_of("pad", "widths", widths);
    return std::vector<Width>(a.ndim(), {each, each});
  }
  if (const auto one = width_of(widths)) return std::vector<Width>(a.ndim(), *one);
  constexpr const char* kExpected = "an int, a pair of ints, or a pair for each axis";
  if (!is_list(widths)) throw_type("pad", "widths", widths, kExpected);
  std::vector<Width> all;
  for (nb::handle pair : widths) {
    const auto width = width_of(pair);
    if (!width) {
      throw TypeMismatch(
          error_message("pad", "widths", nb::cast<std::string>(nb::repr(widths)), kExpected));
    }
    all.push_back(*width);
  }
  return all;
}

void def_reshapes(nb::module_& m) {
  m.def(
      "reshape",
      [](nb::handle a, nb::handle shape) {
        return array::reshape(operand_of("reshape", "a", a), shape_of("reshape", shape));
      },
      value_arg("a"), value_arg("shape"),
      nb::sig(signature("reshape", "a: ArrayLike, shape: ShapeLike").c_str()),
      "The elements row by row in another shape; one extent may be -1. A view where strides "
      "allow.\n"
      "ValueError for another number of elements.");
  m.def(
      "broadcast_to",
      [](nb::handle a, nb::handle shape) {
        return array::broadcast_to(operand_of("broadcast_to", "a", a),
                                   shape_of("broadcast_to", shape));
      },
      value_arg("a"), value_arg("shape"),
      nb::sig(signature("broadcast_to", "a: ArrayLike, shape: ShapeLike").c_str()),
      "Spread over a shape: extents are equal from the right, or 1. A view. ValueError otherwise.");
  m.def(
      "flatten", [](nb::handle a) { return array::flatten(operand_of("flatten", "a", a)); },
      value_arg("a"), nb::sig(signature("flatten", "a: ArrayLike").c_str()),
      "Along one axis, row by row.");
  m.def(
      "expand_dims",
      [](nb::handle a, nb::handle axis) {
        if (axis.is_none()) throw_type("expand_dims", "axis", axis, "an axis or several");
        return array::expand_dims(operand_of("expand_dims", "a", a), *axes_of("expand_dims", axis));
      },
      value_arg("a"), value_arg("axis"),
      nb::sig(signature("expand_dims", "a: ArrayLike, axis: AxesLike").c_str()),
      "New axes of extent 1, counted in the result.");
  m.def(
      "squeeze",
      [](nb::handle a, nb::handle axis) {
        return array::squeeze(operand_of("squeeze", "a", a), axes_of("squeeze", axis));
      },
      value_arg("a"), nb::arg("axis") = nb::none(),
      nb::sig(signature("squeeze", "a: ArrayLike, axis: AxesLike | None = None").c_str()),
      "Without axes of extent 1, all unless said. ValueError for one of another extent.");
}

Array swapaxes(nb::handle a, nb::handle first, nb::handle second) {
  return array::swapaxes(operand_of("swapaxes", "a", a), axis_of("swapaxes", first, "first"),
                         axis_of("swapaxes", second, "second"));
}

Array moveaxis(nb::handle a, nb::handle source, nb::handle to) {
  return array::moveaxis(operand_of("moveaxis", "a", a), axis_of("moveaxis", source, "source"),
                         axis_of("moveaxis", to, "to"));
}

void def_orders(nb::module_& m, ArrayClass& array) {
  m.def(
      "transpose",
      [](nb::handle a, nb::handle axes) {
        return array::transpose(operand_of("transpose", "a", a),
                                axes_of("transpose", axes, "axes"));
      },
      value_arg("a"), nb::arg("axes") = nb::none(),
      nb::sig(signature("transpose", "a: ArrayLike, axes: AxesLike | None = None").c_str()),
      "Axes in another order, reversed unless said; a view. ValueError unless each is named once.");
  constexpr const char* kExchanged = "Two axes exchanged; a view.";
  m.def("swapaxes", &swapaxes, value_arg("a"), value_arg("first"), value_arg("second"),
        nb::sig(signature("swapaxes", "a: ArrayLike, first: int, second: int").c_str()),
        kExchanged);
  array.def("swapaxes", &swapaxes, value_arg("first"), value_arg("second"),
            nb::sig(signature("swapaxes", "self, first: int, second: int").c_str()), kExchanged);
  constexpr const char* kMoved = "One axis moved, the others in order; a view.";
  m.def("moveaxis", &moveaxis, value_arg("a"), value_arg("source"), value_arg("to"),
        nb::sig(signature("moveaxis", "a: ArrayLike, source: int, to: int").c_str()), kMoved);
  array.def("moveaxis", &moveaxis, value_arg("source"), value_arg("to"),
            nb::sig(signature("moveaxis", "self, source: int, to: int").c_str()), kMoved);
}

void def_joins(nb::module_& m, ArrayClass& array) {
  constexpr const char* kArrays = "arrays: collections.abc.Sequence[ArrayLike], axis: int = 0";
  constexpr const char* kParts =
      "So many equal parts along an axis, or parts from each index to the next; views. ValueError\n"
      "for an extent that is no multiple of the number.";
  const std::string rest = "parts: int | collections.abc.Sequence[int], axis: int = 0";
  m.def("split", &split, value_arg("a"), value_arg("parts"), nb::arg("axis").none() = 0,
        nb::sig(signature("split", "a: ArrayLike, " + rest, "list[Array]").c_str()), kParts);
  array.def("split", &split, value_arg("parts"), nb::arg("axis").none() = 0,
            nb::sig(signature("split", "self, " + rest, "list[Array]").c_str()), kParts);
  m.def(
      "concatenate",
      [](nb::handle arrays, nb::handle axis) {
        return array::concatenate(list_of("concatenate", arrays), axis_of("concatenate", axis));
      },
      value_arg("arrays"), nb::arg("axis").none() = 0,
      nb::sig(signature("concatenate", kArrays).c_str()),
      "One after another along an axis; the other extents are equal, dtypes are promoted.");
  m.def(
      "stack",
      [](nb::handle arrays, nb::handle axis) {
        return array::stack(list_of("stack", arrays), axis_of("stack", axis));
      },
      value_arg("arrays"), nb::arg("axis").none() = 0, nb::sig(signature("stack", kArrays).c_str()),
      "Arrays of one shape beside another along a new axis, counted in the result.");
  m.def(
      "pad",
      [](nb::handle a, nb::handle widths, nb::handle value) {
        const Array inner = operand_of("pad", "a", a);
        return array::pad(inner, widths_of(inner, widths),
                          operand_of("pad", "value", value, inner.dtype()));
      },
      value_arg("a"), value_arg("widths"), nb::arg("value").none() = nb::int_(0),
      nb::sig(signature("pad",
                        "a: ArrayLike, widths: int | tuple[int, int] |"
                        " collections.abc.Sequence[tuple[int, int]], value: ArrayLike = 0")
                  .c_str()),
      "More elements before and after, of one value: widths are a number for both ends of all "
      "axes,\n"
      "a pair for all axes, or a pair for each.");
}

void def_elements(nb::module_& m) {
  m.def(
      "take",
      [](nb::handle a, nb::handle indices, nb::handle axis) {
        return array::take(operand_of("take", "a", a), operand_of("take", "indices", indices),
                           axis.is_none() ? std::nullopt : std::optional(axis_of("take", axis)));
      },
      value_arg("a"), value_arg("indices"), nb::arg("axis") = nb::none(),
      nb::sig(
          signature("take", "a: ArrayLike, indices: ArrayLike, axis: int | None = None").c_str()),
      "Elements at indices along an axis, whose place the indices' axes take; of all elements\n"
      "without one. An index outside shows as an IndexError when the work is waited for.");
  m.def(
      "scatter_add",
      [](nb::handle a, nb::handle indices, nb::handle updates, nb::handle axis) {
        const Array base = operand_of("scatter_add", "a", a);
        return array::scatter_add(base, {operand_of("scatter_add", "indices", indices)},
                                  operand_of("scatter_add", "updates", updates, base.dtype()),
                                  {axis_of("scatter_add", axis)});
      },
      value_arg("a"), value_arg("indices"), value_arg("updates"), nb::arg("axis").none() = 0,
      nb::sig(signature("scatter_add",
                        "a: ArrayLike, indices: ArrayLike, updates: ArrayLike, axis: int = 0")
                  .c_str()),
      "a with updates added at indices along an axis; the updates' first axes are the indices', "
      "the\n"
      "others those of a. Indices that are named twice add twice.");
}

}  // namespace

void init_array_shapes(nb::module_& m, ArrayClass& array) {
  def_reshapes(m);
  def_orders(m, array);
  def_joins(m, array);
  def_elements(m);
}

}  // namespace strandline::python
