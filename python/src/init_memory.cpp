// SPDX-License-Identifier: Apache-2.0
// Topic: memory as Python holds it, the class Buffer.

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "memory_buffer.h"

namespace strandline::python {
namespace {

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  return nb::inst_ptr<MemoryBuffer>(self)->export_view(self, view, flags);
}

void release_buffer(PyObject* self, Py_buffer* /*view*/) noexcept {
  nb::inst_ptr<MemoryBuffer>(self)->end_view();
}

PyType_Slot g_buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

}  // namespace

void init_memory(nb::module_& m) {
  nb::class_<MemoryBuffer>(
      m, "Buffer", nb::type_slots(g_buffer_slots),
      "Memory of a device or an allocator, given back by `free` or with the last reference.\n\n"
      "memoryview(buffer) and numpy.frombuffer(buffer, dtype) see its bytes without a copy. While\n"
      "they do, `free` raises BufferError, and the simulation takes the bytes as written.")
      .def_prop_ro("address", &MemoryBuffer::address, "Where it starts.")
      .def_prop_ro("size", &MemoryBuffer::size, "The bytes it occupies.")
      .def_prop_ro("requested_size", &MemoryBuffer::requested, "The bytes asked for.")
      .def_prop_ro("is_live", &MemoryBuffer::is_live, "False once it was freed.")
      .def("free", &MemoryBuffer::free,
           "Gives the memory back; False when the device refused and the buffer lives on.\n\n"
           "Raises ValueError when it was freed before, BufferError while it is looked at.")
      .def("__len__", &MemoryBuffer::size)
      .def("__repr__", [](const MemoryBuffer& b) {
        return nb::str("<strandline.Buffer {} at {:#x}>")
            .format(b.is_live() ? nb::str("of {} bytes").format(b.size()) : nb::str("freed"),
                    b.address());
      });
}

}  // namespace strandline::python
