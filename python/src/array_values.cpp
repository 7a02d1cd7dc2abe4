// SPDX-License-Identifier: Apache-2.0
#include "array_values.h"

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "cpython_compat.h"
#include "foreign_memory.h"
#include "strandline/array/graph_lock.h"
#include "strandline/core/error.h"

namespace strandline::python {

using array::Array;
using array::Dtype;
using array::Shape;

namespace {

// A number that takes after an array: integers fit any number, floats any float.
Array number_like(const char* function, const char* what, const Number& number,
                  std::optional<Dtype> like) {
  if (number.kind == Number::Kind::real) {
    const bool fits = like && array::is_floating(*like);
    return array::scalar(number.real, fits ? *like : Dtype::float32);
  }
  if (number.kind == Number::Kind::boolean) {
    return array::scalar(static_cast<double>(number.integer), like.value_or(Dtype::bool_));
  }
  using Limits = std::numeric_limits<std::int32_t>;
  const bool is_large = number.integer < Limits::min() || number.integer > Limits::max();
  const Dtype own = is_large ? Dtype::int64 : Dtype::int32;
  const Dtype dtype = like && *like != Dtype::bool_ ? *like : own;
  if (!array::holds_integer(dtype, number.integer)) {
    throw InvalidArgument(error_message(function, what, std::to_string(number.integer),
                                        "one that " + std::string(array::dtype_name(dtype)) +
                                            ", the other operand's dtype, can hold"));
  }
  return Array::converted(&number.integer, Dtype::int64, {}, dtype);
}

std::int64_t integer_of_index(const char* function, const char* what, nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow == 0) return number;
  throw InvalidArgument(error_message(function, what, nb::cast<std::string>(nb::str(index)),
                                      "an integer of 64 bits with a sign"));
}

double real_of_float(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

bool has_float(nb::handle value) noexcept {
  const PyNumberMethods* const methods = Py_TYPE(value.ptr())->tp_as_number;
  return methods != nullptr && methods->nb_float != nullptr;
}

}  // namespace

// -- signatures and messages ----------------------------------------------------------------------

std::string signature(const char* name, std::string parameters, const char* result) {
  for (const std::string_view type : {"ArrayLike", "ShapeLike", "AxesLike", "DtypeLike"}) {
    constexpr std::string_view kModule = "strandline.array.typing.";
    for (std::size_t at = 0; (at = parameters.find(type, at)) != std::string::npos;) {
      parameters.insert(at, kModule);
      at += kModule.size() + type.size();
    }
  }
  return "def " + std::string(name) + "(" + parameters + ") -> " + result;
}

std::string described(nb::handle value) {
  constexpr std::size_t kLongest = 60;
  const auto type = nb::cast<std::string>(value.type().attr("__name__"));
  PyObject* const object = value.ptr();
  const bool is_plain = PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
                        PyComplex_Check(object) || value.is_none();
  if (value.is_none()) return "None";
  if (!is_plain) return "an object of type " + type;
  auto text = nb::cast<std::string>(nb::repr(value));
  if (text.size() > kLongest) text = "one";
  return text + " of type " + type;
}

void throw_type(const char* function, const char* what, nb::handle value, const char* expected) {
  throw TypeMismatch(error_message(function, what, described(value), expected));
}

// -- numbers --------------------------------------------------------------------------------------

std::optional<Number> number_of(const char* function, const char* what, nb::handle value) {
  const auto integer = [&] {
    return Number{.kind = Number::Kind::integer,
                  .integer = integer_of_index(function, what, value)};
  };
  const auto real = [&] {
    return Number{.kind = Number::Kind::real, .real = real_of_float(value)};
  };
  const auto boolean = [&] {
    return Number{.kind = Number::Kind::boolean, .integer = PyObject_IsTrue(value.ptr())};
  };
  if (PyBool_Check(value.ptr())) return boolean();
  if (PyLong_Check(value.ptr())) return integer();
  if (PyFloat_Check(value.ptr())) return real();
  if (PyObject_CheckBuffer(value.ptr()) != 0) {
    switch (scalar_kind(value)) {
      case ScalarKind::boolean:
        return boolean();
      case ScalarKind::integer:
        return integer();
      case ScalarKind::real:
        return real();
      case ScalarKind::none:
        return std::nullopt;
    }
  }
  if (nb::isinstance<Array>(value) || nb::hasattr(value, "__dlpack__")) return std::nullopt;
  if (PyIndex_Check(value.ptr()) != 0) return integer();
  if (has_float(value)) return real();
  return std::nullopt;
}

std::int64_t integer_of(const char* function, const char* what, nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) throw_type(function, what, value, "an integer");
  return integer_of_index(function, what, value);
}

int int_of(const char* function, const char* what, nb::handle value) {
  const std::int64_t number = integer_of(function, what, value);
  if (std::in_range<int>(number)) return static_cast<int>(number);
  throw InvalidArgument(
      error_message(function, what, std::to_string(number), "an integer of 32 bits with a sign"));
}

bool truth_of(const char* function, const char* what, nb::handle value) {
  const std::optional<Number> number = number_of(function, what, value);
  if (!number || number->kind != Number::Kind::boolean) {
    throw_type(function, what, value, "True or False");
  }
  return number->integer != 0;
}

double real_of(const char* function, const char* what, nb::handle value) {
  const std::optional<Number> number = number_of(function, what, value);
  if (!number) throw_type(function, what, value, "a number");
  return number->kind == Number::Kind::real ? number->real : static_cast<double>(number->integer);
}

// -- dtypes, shapes, axes -------------------------------------------------------------------------

Dtype dtype_of(const char* function, nb::handle value) {
  ArrayDtype dtype{};
  if (nb::try_cast(value, dtype)) return dtype.value;
  if (PyUnicode_Check(value.ptr())) {
    const auto name = nb::cast<std::string>(value);
    try {
      return array::dtype_named(name);
    } catch (const InvalidArgument&) {
      throw InvalidArgument(error_message(function, "dtype", "'" + name + "'",
                                          "bool, uint8, uint32, int32, int64, float16, bfloat16, "
                                          "float32 or float64"));
    }
  }
  throw_type(function, "dtype", value, "a dtype of strandline.array or its name");
}

std::optional<Dtype> dtype_or_none(const char* function, nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(dtype_of(function, value));
}

nb::object dtype_object(Dtype dtype) {
  // One for each; Python's objects are found by their addresses.
  static std::array<ArrayDtype, 256> all{};
  ArrayDtype& own = all[static_cast<std::uint8_t>(dtype)];
  own.value = dtype;
  return nb::cast(&own, nb::rv_policy::reference);
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

int axis_of(const char* function, nb::handle value, const char* what) {
  const std::int64_t axis = integer_of(function, what, value);
  if (std::in_range<int>(axis)) return static_cast<int>(axis);
  throw InvalidArgument(
      error_message(function, "axis", std::to_string(axis), "an axis of the array"));
}

array::Axes axes_of(const char* function, nb::handle value, const char* what) {
  if (value.is_none()) return std::nullopt;
  std::vector<int> axes;
  if (!is_list(value)) {
    axes.push_back(axis_of(function, value, what));
  } else {
    for (nb::handle axis : value) axes.push_back(axis_of(function, axis, what));
  }
  return axes;
}

// -- arrays ---------------------------------------------------------------------------------------

const Array& given_array(const char* function, const char* what, nb::handle value) {
  if (!nb::isinstance<Array>(value)) throw_type(function, what, value, "an Array");
  return nb::cast<const Array&>(value);
}

std::optional<Array> array_or_none(const char* function, const char* what, nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return given_array(function, what, value);
}

bool is_operand(nb::handle value) {
  PyObject* const object = value.ptr();
  return nb::isinstance<Array>(value) || PyLong_Check(object) || PyFloat_Check(object) ||
         is_list(value) || PyObject_CheckBuffer(object) != 0 || PyIndex_Check(object) != 0 ||
         has_float(value) || nb::hasattr(value, "__dlpack__");
}

Array operand_of(const char* function, const char* what, nb::handle value,
                 std::optional<Dtype> like) {
  if (nb::isinstance<Array>(value)) return nb::cast<const Array&>(value);
  if (const auto number = number_of(function, what, value)) {
    return number_like(function, what, *number, like);
  }
  if (!is_operand(value)) {
    throw_type(function, what, value, "an array, a number, a nested list or a buffer");
  }
  return make_array(function, value, {});
}

std::pair<Array, Array> operands_of(const char* function, nb::handle a, nb::handle b) {
  if (nb::isinstance<Array>(a)) {
    Array left = nb::cast<const Array&>(a);
    Array right = operand_of(function, "b", b, left.dtype());
    return {std::move(left), std::move(right)};
  }
  Array right = operand_of(function, "b", b);
  return {operand_of(function, "a", a, right.dtype()), right};
}

std::vector<Array> arrays_in(const char* function, nb::handle tree) {
  std::vector<Array> arrays;
  const auto visit = [&](const auto& self, nb::handle value) -> void {
    const RecursionLevel level;
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

// -- blocking -------------------------------------------------------------------------------------

ReleasedForWait::~ReleasedForWait() {
  released_.reset();
  drop_released_owners();
}

void install_blocking_hook() noexcept {
  array::set_blocking_hook(
      {.let_go = []() noexcept -> void* {
         const bool holds = Py_IsInitialized() != 0 && current_thread_state() != nullptr;
         return holds ? PyEval_SaveThread() : nullptr;
       },
       .take_back =
           [](void* held) noexcept { PyEval_RestoreThread(static_cast<PyThreadState*>(held)); }});
}

}  // namespace strandline::python
