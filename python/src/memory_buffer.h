// SPDX-License-Identifier: Apache-2.0
// Memory as Python holds it: a simulated device's or an allocator's block, given back by `free` or
// with the last reference. It exports its bytes by the buffer protocol, so that memoryview and
// NumPy see them without a copy. Bytes that somebody looks at are not given back: `free` is refused
// then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <nanobind/nanobind.h>

#include "strandline/device/memory.h"

namespace strandline::python {

namespace nb = nanobind;

class MemoryBuffer {
 public:
  struct Parts {
    std::shared_ptr<const void> owner;  ///< kept alive: what the memory is from
    device::Slice slice;
    std::uint64_t requested = 0;
    device::Memory* told = nullptr;  ///< learns of writes by pointer; null where nobody asks
    bool is_reachable = true;        ///< the host may follow the address
    std::function<device::FreeStatus()> release;
  };

  explicit MemoryBuffer(Parts parts) : parts_(std::move(parts)) {}
  ~MemoryBuffer();
  MemoryBuffer(const MemoryBuffer&) = delete;
  MemoryBuffer& operator=(const MemoryBuffer&) = delete;

  bool is_live() const noexcept { return static_cast<bool>(parts_.release); }
  std::uint64_t address() const noexcept { return parts_.slice.address; }
  std::uint64_t size() const noexcept { return parts_.slice.size; }
  std::uint64_t requested() const noexcept { return parts_.requested; }

  /// Throws InvalidArgument after free, and for what does not lie in the buffer.
  device::Slice slice(const char* function, std::uint64_t offset, std::uint64_t size) const;

  /// False when the device refused, and the buffer lives on. Throws nb::buffer_error while views of
  /// it exist, InvalidArgument when it was freed before.
  bool free();

  // The buffer protocol's two halves.
  int export_view(PyObject* self, Py_buffer* view, int flags) noexcept;
  void end_view() noexcept { --views_; }

 private:
  Parts parts_;
  std::uint64_t views_ = 0;
};

}  // namespace strandline::python
