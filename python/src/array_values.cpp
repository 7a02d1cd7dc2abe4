// SPDX-License-Identifier: Apache-2.0
#include "array_values.h"

#include <atomic>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "strandline/core/error.h"

namespace strandline::python {

using array::Array;
using array::Dtype;
using array::Shape;

namespace {

std::string kind_text(nb::handle value) {
  return "an object of type " + nb::cast<std::string>(value.type().attr("__name__"));
}

[[noreturn]] void throw_type(const char* function, const char* what, nb::handle value,
                             const char* expected) {
  throw TypeMismatch(error_message(function, what, kind_text(value), expected));
}

std::int64_t integer_of(nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return number;
  throw InvalidArgument(error_message("array", "number", nb::cast<std::string>(nb::str(value)),
                                      "an integer of 64 bits with a sign"));
}

std::atomic<bool> g_has_simulated{false};

// -- nested lists ---------------------------------------------------------------------------------

/// Numbers of a nested list, row by row; integers as such until a float is met.
struct Numbers {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  bool has_reals = false;
  bool has_integers = false;
  bool has_large = false;

  void add(nb::handle value) {
    if (PyBool_Check(value.ptr())) {
      add_integer(value.ptr() == Py_True ? 1 : 0);
    } else if (PyLong_Check(value.ptr())) {
      has_integers = true;
      add_integer(integer_of(value));
    } else if (PyFloat_Check(value.ptr()) || PyNumber_Check(value.ptr()) != 0) {
      if (!has_reals) reals.assign(integers.begin(), integers.end());
      has_reals = true;
      reals.push_back(nb::cast<double>(nb::float_(value)));
    } else {
      throw_type("array", "element", value, "numbers in nested lists of equal lengths");
    }
  }

  Array array(const Shape& shape, std::optional<Dtype> dtype) const {
    if (has_reals) {
      return Array::converted(reals.data(), Dtype::float64, shape, dtype.value_or(Dtype::float32));
    }
    const Dtype fitting = has_large ? Dtype::int64 : has_integers ? Dtype::int32 : Dtype::bool_;
    return Array::converted(integers.data(), Dtype::int64, shape,
                            dtype.value_or(integers.empty() ? Dtype::float32 : fitting));
  }

 private:
  void add_integer(std::int64_t value) {
    using Limits = std::numeric_limits<std::int32_t>;
    has_large = has_large || value < Limits::min() || value > Limits::max();
    has_reals ? reals.push_back(static_cast<double>(value)) : integers.push_back(value);
  }
};

bool is_list(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

void read_nested(nb::handle value, std::size_t depth, Shape& shape, Numbers& numbers) {
  const auto length = static_cast<std::int64_t>(nb::len(value));
  if (depth == shape.size()) {
    shape.push_back(length);
  } else if (shape[depth] != length) {
    throw InvalidArgument(error_message(
        "array", "lists",
        "one of " + std::to_string(length) + " beside one of " + std::to_string(shape[depth]),
        "lists of equal lengths"));
  }
  std::int64_t count = 0;
  for (nb::handle element : value) {
    ++count;
    if (is_list(element)) {
      read_nested(element, depth + 1, shape, numbers);
    } else if (depth + 1 != shape.size()) {
      throw InvalidArgument(
          error_message("array", "lists", "a number beside a list", "lists of equal depth"));
    } else {
      numbers.add(element);
    }
  }
  // A number's own code may change the list, and a list's own length be no more than a claim.
  if (count == length) return;
  throw InvalidArgument(
      error_message("array", "lists",
                    std::to_string(count) + " elements in one that said " + std::to_string(length),
                    "lists that stay as they are"));
}

// Lists in more levels than an array has axes are refused later; one may hold itself.
bool holds_arrays(nb::handle list, std::size_t depth = 0) {
  if (depth > array::kMaxRank) return false;
  for (nb::handle element : list) {
    if (nb::isinstance<Array>(element)) return true;
    if (is_list(element) && holds_arrays(element, depth + 1)) return true;
  }
  return false;
}

// Of trees, which may hold themselves: Python's limit of recursion counts.
class Level {
 public:
  Level() {
    if (Py_EnterRecursiveCall(" in a tree of arrays") != 0) throw nb::python_error();
  }
  ~Level() { Py_LeaveRecursiveCall(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
};

bool holds(Dtype dtype, std::int64_t number) noexcept {
  switch (dtype) {
    case Dtype::uint8:
      return std::in_range<std::uint8_t>(number);
    case Dtype::uint32:
      return std::in_range<std::uint32_t>(number);
    case Dtype::int32:
      return std::in_range<std::int32_t>(number);
    default:
      return true;
  }
}

// A number that takes after an array: integers fit any number, floats any float.
Array number_like(nb::handle value, std::optional<Dtype> like) {
  if (PyBool_Check(value.ptr())) {
    return array::scalar(value.ptr() == Py_True ? 1 : 0, like.value_or(Dtype::bool_));
  }
  if (PyLong_Check(value.ptr())) {
    const std::int64_t number = integer_of(value);
    using Limits = std::numeric_limits<std::int32_t>;
    const bool is_large = number < Limits::min() || number > Limits::max();
    const Dtype own = is_large ? Dtype::int64 : Dtype::int32;
    const Dtype dtype = like && *like != Dtype::bool_ ? *like : own;
    if (!holds(dtype, number)) {
      throw InvalidArgument(error_message("array", "number", std::to_string(number),
                                          "one that " + std::string(array::dtype_name(dtype)) +
                                              ", the other operand's dtype, can hold"));
    }
    return Array::converted(&number, Dtype::int64, {}, dtype);
  }
  const double number = PyFloat_AsDouble(value.ptr());
  const bool fits = like && array::is_floating(*like);
  return array::scalar(number, fits ? *like : Dtype::float32);
}

}  // namespace

// -- dtypes, shapes, axes -------------------------------------------------------------------------

Dtype dtype_of(const char* function, nb::handle value) {
  ArrayDtype dtype{};
  if (nb::try_cast(value, dtype)) return dtype.value;
  if (PyUnicode_Check(value.ptr())) return array::dtype_named(nb::cast<std::string>(value));
  throw_type(function, "dtype", value, "a dtype of strandline.array or its name");
}

std::optional<Dtype> dtype_or_none(const char* function, nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(dtype_of(function, value));
}

nb::object dtype_object(Dtype dtype) {
  return nb::module_::import_("strandline._native.array")
      .attr("dtypes")[nb::str(std::string(array::dtype_name(dtype)).c_str())];
}

std::int64_t integer_of(const char* function, const char* what, nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) throw_type(function, what, value, "an integer");
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow == 0) return number;
  throw InvalidArgument(error_message(function, what, nb::cast<std::string>(nb::str(index)),
                                      "an integer of 64 bits with a sign"));
}

Shape shape_of(const char* function, nb::handle value) {
  if (!is_list(value)) return {integer_of(function, "shape", value)};
  Shape shape;
  for (nb::handle extent : value) shape.push_back(integer_of(function, "extent", extent));
  return shape;
}

nb::tuple shape_object(const Shape& shape) {
  nb::list extents;
  for (const std::int64_t extent : shape) extents.append(extent);
  return nb::tuple(extents);
}

int axis_of(const char* function, std::int64_t number) {
  if (std::in_range<int>(number)) return static_cast<int>(number);
  throw InvalidArgument(
      error_message(function, "axis", std::to_string(number), "an axis of the array"));
}

array::Axes axes_of(const char* function, nb::handle value) {
  if (value.is_none()) return std::nullopt;
  std::vector<int> axes;
  const auto add = [&](nb::handle axis) {
    axes.push_back(axis_of(function, integer_of(function, "axis", axis)));
  };
  if (!is_list(value)) {
    add(value);
  } else {
    for (nb::handle axis : value) add(axis);
  }
  return axes;
}

// -- arrays ---------------------------------------------------------------------------------------

Array operand_of(const char* function, nb::handle value, std::optional<Dtype> like) {
  if (nb::isinstance<Array>(value)) return nb::cast<const Array&>(value);
  if (PyBool_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) {
    return number_like(value, like);
  }
  if (!is_list(value) && PyObject_CheckBuffer(value.ptr()) == 0) {
    throw_type(function, "operand", value, "an array, a number, a nested list or a buffer");
  }
  return make_array(value, {});
}

std::pair<Array, Array> operands_of(const char* function, nb::handle a, nb::handle b) {
  if (nb::isinstance<Array>(a)) {
    Array left = nb::cast<const Array&>(a);
    Array right = operand_of(function, b, left.dtype());
    return {std::move(left), std::move(right)};
  }
  Array right = operand_of(function, b);
  return {operand_of(function, a, right.dtype()), right};
}

Array make_array(nb::handle value, std::optional<Dtype> dtype) {
  const Level level;
  if (nb::isinstance<Array>(value)) {
    const Array& given = nb::cast<const Array&>(value);
    return array::astype(array::copy(given), dtype.value_or(given.dtype()));
  }
  if (is_list(value)) {
    if (holds_arrays(value)) {
      std::vector<Array> parts;
      for (nb::handle element : value) parts.push_back(make_array(element, {}));
      const Array all = array::stack(parts);
      return array::astype(all, dtype.value_or(all.dtype()));
    }
    Shape shape;
    Numbers numbers;
    read_nested(value, 0, shape, numbers);
    return numbers.array(shape, dtype);
  }
  if (PyBool_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) {
    Numbers number;
    number.add(value);
    return number.array({}, dtype);
  }
  return array_copied(value, dtype);
}

std::vector<Array> arrays_in(const char* function, nb::handle tree) {
  std::vector<Array> arrays;
  const auto visit = [&](const auto& self, nb::handle value) -> void {
    const Level level;
    if (nb::isinstance<Array>(value)) {
      arrays.push_back(nb::cast<const Array&>(value));
    } else if (is_list(value)) {
      for (nb::handle element : value) self(self, element);
    } else if (PyDict_Check(value.ptr())) {
      for (nb::handle element : nb::cast<nb::dict>(value).values()) self(self, element);
    } else if (!value.is_none() && PyNumber_Check(value.ptr()) == 0) {
      throw_type(function, "tree", value, "arrays in lists, tuples and dictionaries");
    }
  };
  visit(visit, tree);
  return arrays;
}

ReleasedForWait::ReleasedForWait() {
  if (!g_has_simulated.load(std::memory_order_relaxed)) release_.emplace();
}

void note_simulated_device() noexcept {
  g_has_simulated.store(true, std::memory_order_relaxed);
}

}  // namespace strandline::python
