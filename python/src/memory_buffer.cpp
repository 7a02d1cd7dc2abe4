// SPDX-License-Identifier: Apache-2.0
#include "memory_buffer.h"

#include "strandline/core/error.h"

namespace strandline::python {

MemoryBuffer::~MemoryBuffer() {
  // A view holds a reference to its exporter, so there is none now.
  if (is_live()) static_cast<void>(parts_.release());
}

device::Slice MemoryBuffer::slice(const char* function, std::uint64_t offset,
                                  std::uint64_t size) const {
  if (!is_live()) {
    throw InvalidArgument(error_message(function, "buffer", "one that was freed", "a live buffer"));
  }
  if (offset > this->size() || size > this->size() - offset) {
    throw InvalidArgument(error_message(
        function, "bytes", std::to_string(size) + " from offset " + std::to_string(offset),
        "at most " + std::to_string(this->size()) + " bytes from offset 0"));
  }
  return {address() + offset, size, parts_.slice.buffer};
}

bool MemoryBuffer::free() {
  static_cast<void>(slice("free", 0, 0));
  if (views_ != 0) {
    const std::string text =
        error_message("free", "buffer", std::to_string(views_) + " views of it",
                      "none: delete the arrays and memoryviews first");
    throw nb::buffer_error(text.c_str());
  }
  if (parts_.release() == device::FreeStatus::refused) return false;
  parts_.release = nullptr;
  return true;
}

int MemoryBuffer::export_view(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  if (!is_live()) {
    PyErr_SetString(PyExc_BufferError,
                    "[Buffer] memory; got one that was freed, expected a live buffer");
    return -1;
  }
  if (!parts_.is_reachable) {
    PyErr_SetString(PyExc_BufferError,
                    "[Buffer] memory; got a device's own, expected one that the host reaches");
    return -1;
  }
  const int outcome = PyBuffer_FillInfo(view, self, reinterpret_cast<void*>(address()),
                                        static_cast<Py_ssize_t>(size()), 0, flags);
  if (outcome != 0) return outcome;
  ++views_;
  // Who looks may write, for as long as he looks.
  if (parts_.told != nullptr) parts_.told->note_host_write(parts_.slice);
  return 0;
}

}  // namespace strandline::python
