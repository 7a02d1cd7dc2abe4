// SPDX-License-Identifier: Apache-2.0
// Values between Python and arrays: numbers, nested lists, buffers, dtypes, shapes, axes; and the
// lock of the interpreter around waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

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
/// InvalidArgument, naming the number, for what is an axis of no array.
int axis_of(const char* function, std::int64_t number);
/// None, an int, or a list or tuple of ints.
array::Axes axes_of(const char* function, nb::handle value);
/// An integer, also one of NumPy. TypeMismatch otherwise, InvalidArgument past 64 bits.
std::int64_t integer_of(const char* function, const char* what, nb::handle value);

/// An array as it is; a Python number as a scalar that takes after `like`; everything else as
/// `array()` makes it. TypeMismatch for what has no values.
array::Array operand_of(const char* function, nb::handle value,
                        std::optional<array::Dtype> like = {});
/// Both operands; a Python number takes after the other.
std::pair<array::Array, array::Array> operands_of(const char* function, nb::handle a, nb::handle b);
/// A new array of numbers, nested lists and tuples of numbers or arrays, or a buffer (copied).
array::Array make_array(nb::handle value, std::optional<array::Dtype> dtype);
/// A copy of a buffer; float64 becomes float32 unless a dtype is given.
array::Array array_copied(nb::handle buffer, std::optional<array::Dtype> dtype);
/// The same without a copy where the memory of a buffer can be used as it is.
array::Array array_over(nb::handle value, std::optional<bool> copy);

/// Lists, tuples and dictionaries, nested, of arrays; other values are refused, None is nothing.
std::vector<array::Array> arrays_in(const char* function, nb::handle tree);

/// Lets go of the interpreter lock while a thread waits for the host. With a simulated device the
/// lock is kept: queued work there may be Python's (init_sim.cpp).
class ReleasedForWait {
 public:
  ReleasedForWait();

 private:
  std::optional<nb::gil_scoped_release> release_;
};
/// From now on some device may be a simulated one.
void note_simulated_device() noexcept;

/// The DLPack capsule of an array, which it keeps alive.
nb::object array_tensor(nb::handle self);
/// An array over a contiguous tensor that DLPack brings; none for what has no `__dlpack__`.
std::optional<array::Array> array_over_tensor(nb::handle value, std::optional<bool> copy);

/// Array's slots of the buffer protocol.
extern PyType_Slot g_array_slots[];
/// Lets go of the Python objects whose memory arrays no longer use; with the interpreter lock.
void drop_released_owners() noexcept;

}  // namespace strandline::python
