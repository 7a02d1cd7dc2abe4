// SPDX-License-Identifier: Apache-2.0
// Arrays made of Python's values: numbers, nested lists, memory of others.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "array_values.h"
#include "foreign_memory.h"
#include "strandline/array/descriptor.h"
#include "strandline/core/error.h"

namespace strandline::python {

using array::Array;
using array::Dtype;
using array::Shape;

namespace {

/// Numbers of a nested list, row by row; integers as such until a float is met.
struct Numbers {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  bool has_reals = false;
  bool has_integers = false;
  bool has_large = false;

  void add(nb::handle value) {
    const std::optional<Number> number = number_of("array", "element", value);
    if (!number) throw_type("array", "element", value, "numbers in nested lists of equal lengths");
    if (number->kind == Number::Kind::real) {
      if (!has_reals) reals.assign(integers.begin(), integers.end());
      has_reals = true;
      reals.push_back(number->real);
      return;
    }
    has_integers = has_integers || number->kind == Number::Kind::integer;
    add_integer(number->integer);
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

Array array_of_list(nb::handle value, std::optional<Dtype> dtype) {
  if (holds_arrays(value)) {
    std::vector<Array> parts;
    for (nb::handle element : value) parts.push_back(make_array("array", element, {}));
    const Array all = array::stack(parts);
    return array::astype(all, dtype.value_or(all.dtype()));
  }
  Shape shape;
  Numbers numbers;
  read_nested(value, 0, shape, numbers);
  return numbers.array(shape, dtype);
}

bool is_memory(nb::handle value) {
  return PyObject_CheckBuffer(value.ptr()) != 0 || nb::hasattr(value, "__dlpack__");
}

ForeignMemory memory_or_throw(const char* function, nb::handle value) {
  std::optional<ForeignMemory> memory = foreign_memory(function, value);
  if (!memory) throw_type(function, "value", value, "a number, a nested list or a buffer");
  return std::move(*memory);
}

[[noreturn]] void throw_copy(const char* what, const std::string& got, const char* expected) {
  throw InvalidArgument(error_message("asarray", what, got, expected));
}

}  // namespace

bool is_list(nb::handle value) noexcept {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

Array make_array(const char* function, nb::handle value, std::optional<Dtype> dtype) {
  const RecursionLevel level;
  if (nb::isinstance<Array>(value)) {
    const Array& given = nb::cast<const Array&>(value);
    return array::astype(array::copy(given), dtype.value_or(given.dtype()));
  }
  if (is_list(value)) return array_of_list(value, dtype);
  if (!is_memory(value)) {
    if (const auto is_number = number_of(function, "value", value)) {
      Numbers number;
      number.add(value);
      return number.array({}, dtype);
    }
  }
  const ForeignMemory memory = memory_or_throw(function, value);
  // As of nested lists, float64 is asked for by name.
  const bool is_wide = !dtype && memory.dtype == Dtype::float64;
  return copy_of(memory, is_wide ? Dtype::float32 : dtype);
}

Array copied(const Array& given) {
  const Array array(given.node());  // while the lock is let go, the object may get another
  const std::size_t item = array::dtype_size_bytes(array.dtype());
  std::vector<std::byte> values(array.size() * item);
  {
    const ReleasedForWait released;
    array.read_values(values.data(), array.dtype());
  }
  return {values.data(), array.shape(), array.dtype(), array::device_of(array)};
}

nb::object array_without_copy(nb::handle value, std::optional<Dtype> dtype,
                              std::optional<bool> copy) {
  const bool may_copy = copy.value_or(true);
  if (nb::isinstance<Array>(value)) {
    const Array& given = nb::cast<const Array&>(value);
    const bool is_same = !dtype || *dtype == given.dtype();
    if (is_same && !copy.value_or(false)) return nb::borrow(value);
    if (!may_copy)
      throw_copy("dtype", std::string(array::dtype_name(*dtype)), "the array's own, or copy=None");
    // What is followed for a gradient has no values yet, and stays followed.
    if (is_same && !array::is_followed(given)) return nb::cast(copied(given));
    return nb::cast(make_array("asarray", value, dtype));
  }
  if (!is_memory(value)) {
    if (!may_copy)
      throw_copy("value", described(value), "memory that can be used as it is, or copy=None");
    return nb::cast(make_array("asarray", value, dtype));
  }
  ForeignMemory memory = memory_or_throw("asarray", value);
  const bool is_same = !dtype || *dtype == memory.dtype;
  if (is_same && !copy.value_or(false)) {
    if (auto over = array_over(memory)) return nb::cast(std::move(*over));
  }
  if (!may_copy && array::element_count("asarray", memory.shape) > 0) {
    throw_copy(
        "memory", is_same ? "a layout or place that arrays here cannot use" : "another dtype",
        "aligned elements of the dtype, whole elements apart, not wrapped yet, or copy=None");
  }
  return nb::cast(copy_of(memory, dtype));
}

}  // namespace strandline::python
