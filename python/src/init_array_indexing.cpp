// SPDX-License-Identifier: Apache-2.0
// Topic: indexing of arrays, and their methods. An index is a number, a slice, None, Ellipsis, an
// array of integers, or a tuple of those, with NumPy's meaning. Slices are views.

#include <fmt/format.h>
#include <nanobind/nanobind.h>

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

// NumPy's scalars are numbers; its arrays, also those without axes, are arrays.
bool is_array_index(nb::handle part) {
  return nb::isinstance<Array>(part) || PyList_Check(part.ptr()) ||
         nb::hasattr(part, "__dlpack__") ||
         (PyObject_CheckBuffer(part.ptr()) != 0 && PyIndex_Check(part.ptr()) == 0);
}

constexpr const char* kIndex = "an integer, a slice, None, ..., or an array of integers";

// An array of integers. MLX and NumPy refuse others too, but for NumPy's masks.
Array index_array(nb::handle part) {
  const std::optional<Number> number = number_of("index", "part", part);
  if (number && number->kind != Number::Kind::integer) throw_type("index", "part", part, kIndex);
  Array indices = operand_of("index", "part", part);
  const array::Dtype dtype = indices.dtype();
  if (PyList_Check(part.ptr()) && indices.size() == 0) {
    return array::astype(indices, array::Dtype::int32);
  }
  if (!array::is_floating(dtype) && dtype != array::Dtype::bool_) return indices;
  throw TypeMismatch(error_message(
      "index", "part", "an array of " + std::string(array::dtype_name(dtype)),
      dtype == array::Dtype::bool_ ? "an array of integers: masks are not indices here, use where"
                                   : "an array of integers"));
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
      check_slice(part);
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
    index_.indices.push_back(index_array(part));
    add_bounds(0, a_.shape()[axis_++], 1);
  }

  // Python's words for parts that are no integers name neither part nor value.
  static void check_slice(nb::handle slice) {
    for (const char* name : {"start", "stop", "step"}) {
      const nb::object part = slice.attr(name);
      if (part.is_none() || PyIndex_Check(part.ptr()) != 0) continue;
      throw_type("index", (std::string("slice's ") + name).c_str(), part, "an integer or None");
    }
    const nb::object step = slice.attr("step");
    if (nb::int_(0).equal(step)) {
      throw InvalidArgument(error_message("index", "slice's step", "0", "another"));
    }
  }

  static std::string range_text(std::int64_t extent) {
    if (extent == 0) return "none: the axis has no elements";
    return fmt::format("{} to {}", -extent, extent - 1);
  }

  void add_number(nb::handle part) {
    if (PyIndex_Check(part.ptr()) == 0 || PyBool_Check(part.ptr())) {
      throw_type("index", "part", part, kIndex);
    }
    const std::int64_t extent = a_.shape()[axis_];
    const nb::object index = nb::steal(PyNumber_Index(part.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0 || number < -extent || number >= extent) {
      throw OutOfRange(error_message("index", "number", nb::cast<std::string>(nb::repr(index)),
                                     range_text(extent)));
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

Array indexed(const Array& a, nb::handle index) {
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
  order.reserve(result.ndim());
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
          nb::arg("shape"), nb::sig(signature("reshape", "self, *shape: ShapeLike").c_str()),
          "The elements row by row in another shape, given as one argument or several; one extent\n"
          "may be -1. ValueError for another number of elements.")
      .def(
          "transpose",
          [](const Array& a, const nb::args& axes) {
            if (axes.size() == 0) return array::transpose(a);
            return array::transpose(a, axes_of("transpose", shape_argument(axes), "axes"));
          },
          nb::arg("axes"), nb::sig(signature("transpose", "self, *axes: AxesLike").c_str()),
          "Axes in another order, given as one argument or several; reversed unless said.")
      .def_prop_ro(
          "T", [](const Array& a) { return array::transpose(a); }, nb::sig("def T(self) -> Array"),
          "Axes reversed.")
      .def(
          "astype",
          [](const Array& a, nb::handle dtype) {
            return array::astype(a, dtype_of("astype", dtype));
          },
          value_arg("dtype"), nb::sig(signature("astype", "self, dtype: DtypeLike").c_str()),
          "Converted: floats to integers towards zero, anything to bool by != 0.")
      .def("flatten", &array::flatten, nb::sig("def flatten(self) -> Array"),
           "Along one axis, row by row.")
      .def(
          "squeeze",
          [](const Array& a, nb::handle axis) {
            return array::squeeze(a, axes_of("squeeze", axis));
          },
          nb::arg("axis") = nb::none(),
          nb::sig(signature("squeeze", "self, axis: AxesLike | None = None").c_str()),
          "Without axes of extent 1, all unless said. ValueError for one of another extent.");
}

}  // namespace

void def_array_indexing(ArrayClass& array) {
  array.def("__getitem__", &indexed, value_arg("index"),
            nb::sig("def __getitem__(self, index: typing.Any, /) -> Array"),
            "Elements by a number, a slice, None, ..., an array or list of integers, or a tuple of "
            "those,\n"
            "with NumPy's meaning; slices are views. IndexError outside of an axis, TypeError for "
            "others.");
  def_shape_methods(array);
}

}  // namespace strandline::python
