// SPDX-License-Identifier: Apache-2.0
// Memory of other objects, as the buffer protocol (PEP 3118) or DLPack describes it, and arrays
// made of it: over the memory itself where its layout and the device allow, else of a copy.
//
// Whatever exports the memory is kept as long as it is used. It is let go by the next thread that
// holds the interpreter lock and makes or exports an array, since memory is given back on threads
// of the device, which must not wait for that lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <nanobind/nanobind.h>

#include "strandline/array/array.h"

namespace strandline::python {

namespace nb = nanobind;

/// Keeps foreign memory in place; destroyed with the interpreter lock held.
class Exporter {
 public:
  Exporter() = default;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  virtual ~Exporter() = default;
};

struct ForeignMemory {
  std::byte* at = nullptr;  ///< the first element
  array::Shape shape;
  array::Strides strides_bytes;
  array::Dtype dtype = array::Dtype::unknown;
  std::unique_ptr<Exporter> exporter;
};

enum class ScalarKind : std::uint8_t { none, boolean, integer, real };
/// Of a buffer without axes, such as NumPy's scalars; none for others and for other elements.
ScalarKind scalar_kind(nb::handle buffer);

/// The memory of a buffer or of what has `__dlpack__`; none for other objects. TypeMismatch for
/// elements that arrays do not have, and for memory that the host does not reach.
std::optional<ForeignMemory> foreign_memory(const char* function, nb::handle value);
/// By DLPack alone; none for what has no `__dlpack__`.
std::optional<ForeignMemory> foreign_tensor(const char* function, nb::handle value);

/// A copy, converted; float64 stays float64 unless a dtype is given.
array::Array copy_of(const ForeignMemory& memory, std::optional<array::Dtype> dtype);
/// An array over the memory itself; none when elements lie unaligned or between the multiples of
/// their size, when bytes of bool are not 0 or 1, when there are none, or when the device cannot
/// wrap the memory. Takes the exporter then, and only then.
std::optional<array::Array> array_over(ForeignMemory& memory);

/// Lets go of exporters whose memory arrays no longer use; with the interpreter lock.
void drop_released_owners() noexcept;
/// Lets go of an object now when this thread has the interpreter lock, else with the next of those.
void drop_later(PyObject* object) noexcept;

}  // namespace strandline::python
