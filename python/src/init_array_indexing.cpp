// SPDX-License-Identifier: Apache-2.0
// Topic: indexing of arrays, and their methods. An index is a number, a slice, None, Ellipsis, an
// array of integers, or a tuple of those, with NumPy's meaning. Slices are views.

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;
using array::Shape;

/// An index, one axis after another: views first, then what takes elements by arrays.
struct Index {
  Shape start;
  Shape stop;
  Shape step;
  std::vector<int> dropped;  ///< axes of the sliced array that a number has made 1
  std::vector<int> added;    ///< axes of the result so far, from None
  std::vector<int> picked;   ///< axes of that result, taken by the arrays
  std::vector<Array> indices;
  int first = -1;         ///< axis of that result where arrays and numbers beside them begin
  bool is_apart = false;  ///< something lies between them: the arrays' axes come first
};

bool is_array_index(nb::handle part) {
  return nb::isinstance<Array>(part) || PyList_Check(part.ptr()) ||
         (PyObject_CheckBuffer(part.ptr()) != 0 && PyIndex_Check(part.ptr()) == 0);
}

// The axes that the parts of an index stand for; Ellipsis stands for the rest.
std::size_t axes_named(const nb::tuple& parts) {
  std::size_t count = 0;
  for (nb::handle part : parts) {
    if (!part.is_none() && part.ptr() != Py_Ellipsis) ++count;
  }
  return count;
}

class IndexReader {
 public:
  IndexReader(const Array& a, const nb::tuple& parts) : a_(a) {
    const std::size_t named = axes_named(parts);
    for (nb::handle part : parts) has_arrays_ = has_arrays_ || is_array_index(part);
    if (named > a.ndim()) {
      throw OutOfRange(error_message("index", "parts", std::to_string(named),
                                     fmt::format("at most {} for an array of shape {}", a.ndim(),
                                                 array::shape_text(a.shape()))));
    }
    bool had_ellipsis = false;
    for (nb::handle part : parts) {
      if (part.ptr() == Py_Ellipsis) {
        if (had_ellipsis) {
          throw OutOfRange(error_message("index", "Ellipsis", "two", "at most one"));
        }
        had_ellipsis = true;
        for (std::size_t i = named; i < a.ndim(); ++i) add_all();
      } else {
        add(part);
      }
    }
    while (axis_ < a.ndim()) add_all();
  }

  Index take() { return std::move(index_); }

 private:
  void add_bounds(std::int64_t start, std::int64_t stop, std::int64_t step) {
    index_.start.push_back(start);
    index_.stop.push_back(stop);
    index_.step.push_back(step);
  }

  void add_all() {
    add_bounds(0, a_.shape()[axis_++], 1);
    pass();
  }

  // An axis of the result that no array has taken.
  void pass() {
    ++result_axis_;
    between_ = between_ || index_.first >= 0;
  }

  // Beside arrays a number counts as one, as in NumPy.
  void note_array() {
    if (!has_arrays_) return;
    index_.is_apart = index_.is_apart || between_;
    if (index_.first < 0) index_.first = result_axis_;
  }

  void add(nb::handle part) {
    if (part.is_none()) {
      index_.added.push_back(result_axis_);
      pass();
    } else if (PySlice_Check(part.ptr())) {
      Py_ssize_t start = 0;
      Py_ssize_t stop = 0;
      Py_ssize_t step = 0;
      if (PySlice_Unpack(part.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
      PySlice_AdjustIndices(a_.shape()[axis_], &start, &stop, step);
      ++axis_;
      add_bounds(start, stop, step);
      pass();
    } else if (is_array_index(part)) {
      add_array(part);
    } else {
      add_number(part);
    }
  }

  void add_array(nb::handle part) {
    note_array();
    index_.picked.push_back(result_axis_++);
    index_.indices.push_back(operand_of("index", part));
    add_bounds(0, a_.shape()[axis_++], 1);
  }

  void add_number(nb::handle part) {
    const std::int64_t extent = a_.shape()[axis_];
    const std::int64_t number = integer_of("index", "part", part);
    if (number < -extent || number >= extent) {
      throw OutOfRange(error_message("index", "number", std::to_string(number),
                                     extent == 0 ? std::string("none: the axis has no elements")
                                                 : fmt::format("{} to {}", -extent, extent - 1)));
    }
    const std::int64_t at = number < 0 ? number + extent : number;
    note_array();
    index_.dropped.push_back(static_cast<int>(axis_++));
    add_bounds(at, at + 1, 1);
  }

  const Array& a_;
  Index index_;
  std::size_t axis_ = 0;
  int result_axis_ = 0;
  bool has_arrays_ = false;
  bool between_ = false;
};

Array indexed(const Array& a, nb::object index) {
  const nb::tuple parts =
      PyTuple_Check(index.ptr()) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
  const Index read = IndexReader(a, parts).take();
  Array result = array::slice(a, read.start, read.stop, read.step);
  if (!read.dropped.empty()) result = array::squeeze(result, read.dropped);
  if (!read.added.empty()) result = array::expand_dims(result, read.added);
  if (read.indices.empty()) return result;
  result = array::gather(result, read.indices, read.picked);
  if (read.is_apart || read.first == 0) return result;
  // The axes of the arrays lie in front; they go where the first array stood.
  const std::vector<Array> together = array::broadcast_arrays(read.indices);
  const int count = static_cast<int>(together[0].ndim());
  std::vector<int> order;
  for (int i = 0; i < read.first; ++i) order.push_back(count + i);
  for (int i = 0; i < count; ++i) order.push_back(i);
  for (int i = read.first + count; i < static_cast<int>(result.ndim()); ++i) order.push_back(i);
  return array::transpose(result, order);
}

nb::object shape_argument(const nb::args& shape) {
  return shape.size() == 1 ? nb::object(shape[0]) : nb::object(shape);
}

void def_shape_methods(ArrayClass& array) {
  array
      .def(
          "reshape",
          [](const Array& a, const nb::args& shape) {
            return array::reshape(a, shape_of("reshape", shape_argument(shape)));
          },
          nb::arg("shape"), "Another shape; one extent may be -1.")
      .def(
          "transpose",
          [](const Array& a, const nb::args& axes) {
            if (axes.size() == 0) return array::transpose(a);
            return array::transpose(a, axes_of("transpose", shape_argument(axes)));
          },
          nb::arg("axes"), "Axes in another order, reversed unless said.")
      .def_prop_ro(
          "T", [](const Array& a) { return array::transpose(a); }, "Axes reversed.")
      .def(
          "astype",
          [](const Array& a, nb::object dtype) {
            return array::astype(a, dtype_of("astype", dtype));
          },
          nb::arg("dtype"))
      .def("flatten", &array::flatten)
      .def(
          "squeeze",
          [](const Array& a, nb::object axis) {
            return array::squeeze(a, axes_of("squeeze", axis));
          },
          nb::arg("axis") = nb::none());
}

}  // namespace

void def_array_indexing(ArrayClass& array) {
  array.def("__getitem__", &indexed, nb::arg("index").none());
  def_shape_methods(array);
  using Reduction = Array (*)(const Array&, const array::Axes&, array::KeepDims);
  const auto def_method = [&](const char* name, Reduction function) {
    array.def(
        name,
        [name, function](const Array& a, nb::object axis, bool keepdims) {
          return function(a, axes_of(name, axis),
                          keepdims ? array::KeepDims::yes : array::KeepDims::no);
        },
        nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
  };
  def_method("sum", array::sum);
  def_method("mean", array::mean);
  def_method("max", array::max);
  def_method("min", array::min);
}

}  // namespace strandline::python
