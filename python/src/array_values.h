// SPDX-License-Identifier: Apache-2.0
// Values between Python and arrays: numbers, nested lists, buffers, dtypes, shapes, axes; and the
// lock of the interpreter around waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "interpreter_lock.h"
#include "strandline/array/array.h"
#include "strandline/array/operations.h"

namespace strandline::python {

namespace nb = nanobind;

/// A dtype as Python holds it; it keeps the type apart from the enum of records.
struct ArrayDtype {
  array::Dtype value;
};

/// A Dtype object or its name. TypeMismatch and InvalidArgument otherwise, naming `function`.
array::Dtype dtype_of(const char* function, nb::handle value);
std::optional<array::Dtype> dtype_or_none(const char* function, nb::handle value);
/// The object of a dtype: always the same one.
nb::object dtype_object(array::Dtype dtype);

/// An int, or a list or tuple of ints.
array::Shape shape_of(const char* function, nb::handle value);
nb::tuple shape_object(const array::Shape& shape);
/// None, an int, or a list or tuple of ints.
array::Axes axes_of(const char* function, nb::handle value, const char* what = "axis");
/// One axis, of the argument `what`. InvalidArgument, naming the number, for what is an axis of no
/// array.
int axis_of(const char* function, nb::handle value, const char* what = "axis");
/// An integer, also one of NumPy. TypeMismatch otherwise; InvalidArgument past 64 bits.
std::int64_t integer_of(const char* function, const char* what, nb::handle value);
/// The same, of 32 bits.
int int_of(const char* function, const char* what, nb::handle value);
/// True or False, also NumPy's. TypeMismatch otherwise.
bool truth_of(const char* function, const char* what, nb::handle value);
/// A number as a double. TypeMismatch otherwise.
double real_of(const char* function, const char* what, nb::handle value);
/// An Array itself. TypeMismatch otherwise.
const array::Array& given_array(const char* function, const char* what, nb::handle value);
/// The same, none for None.
std::optional<array::Array> array_or_none(const char* function, const char* what, nb::handle value);

/// "def name(parameters) -> result", for nb::sig. ArrayLike, ShapeLike, AxesLike and DtypeLike are
/// those of strandline.array.typing.
std::string signature(const char* name, std::string parameters, const char* result = "Array");
/// An argument that the function checks itself, None included.
inline auto value_arg(const char* name) {
  return nb::arg(name).none();
}

/// A value and its type, for messages: "'a' of type str".
std::string described(nb::handle value);
[[noreturn]] void throw_type(const char* function, const char* what, nb::handle value,
                             const char* expected);

/// A list or a tuple.
bool is_list(nb::handle value) noexcept;

/// A single number of Python or NumPy: bool, int, float, what has __index__ or __float__, and
/// arrays of NumPy without axes. It has no dtype of its own against an array.
struct Number {
  enum class Kind : std::uint8_t { boolean, integer, real };
  Kind kind = Kind::boolean;
  std::int64_t integer = 0;  ///< also the truth of a boolean
  double real = 0.0;
};
/// None for what is no number. InvalidArgument past 64 bits, naming function and argument.
std::optional<Number> number_of(const char* function, const char* what, nb::handle value);

/// Whether operand_of takes it; what it says of values inside of lists is seen later.
bool is_operand(nb::handle value);
/// An array as it is; a number as a scalar that takes after `like`; everything else as `array()`
/// makes it. TypeMismatch for what has no values, naming function and argument.
array::Array operand_of(const char* function, const char* what, nb::handle value,
                        std::optional<array::Dtype> like = {});
/// Both operands, named a and b; a number takes after the other.
std::pair<array::Array, array::Array> operands_of(const char* function, nb::handle a, nb::handle b);
/// A new array of numbers, nested lists and tuples of numbers or arrays, or memory (copied).
array::Array make_array(const char* function, nb::handle value, std::optional<array::Dtype> dtype);
/// The same without a copy where it can be; `copy` false refuses one, true always makes one.
nb::object array_without_copy(nb::handle value, std::optional<array::Dtype> dtype,
                              std::optional<bool> copy);
/// The same values in memory of their own; evaluates.
array::Array copied(const array::Array& array);
/// NumPy's text of an array, its ends when it is large. Evaluates.
std::string text_of(const array::Array& array);

/// Lists, tuples and dictionaries, nested, of arrays; other values are refused, None is nothing.
std::vector<array::Array> arrays_in(const char* function, nb::handle tree);

/// Lets go of the interpreter lock where a thread evaluates or waits, which it does with an array
/// of its own: `x += 1` changes what a Python object's is. Elsewhere the lock of graphs sees to it
/// that nobody waits for it with the interpreter lock (install_blocking_hook). Afterwards what only
/// the work that was waited for had kept of Python's goes.
class ReleasedForWait {
 public:
  ReleasedForWait() = default;
  ~ReleasedForWait();
  ReleasedForWait(const ReleasedForWait&) = delete;
  ReleasedForWait& operator=(const ReleasedForWait&) = delete;

 private:
  std::optional<ReleasedLock> released_{std::in_place};
};
void install_blocking_hook() noexcept;

/// What a consumer asks of `__dlpack__`, each None unless said.
struct TensorWishes {
  nb::handle stream;
  nb::handle max_version;
  nb::handle device;
  nb::handle copy;
};
/// The DLPack capsule of an array's memory, or of a copy.
nb::object array_tensor(const array::Array& array, const TensorWishes& wishes);
/// `numpy.ndarray` for `__array__`.
nb::object array_for_numpy(nb::handle self, nb::handle dtype, nb::handle copy);

/// Array's slots of the buffer protocol.
extern PyType_Slot g_array_slots[];

/// Python's limit of recursion counts for trees, which may hold themselves.
class RecursionLevel {
 public:
  RecursionLevel() {
    if (Py_EnterRecursiveCall(" in a tree of arrays") != 0) throw nb::python_error();
  }
  ~RecursionLevel() { Py_LeaveRecursiveCall(); }
  RecursionLevel(const RecursionLevel&) = delete;
  RecursionLevel& operator=(const RecursionLevel&) = delete;
};

}  // namespace strandline::python
