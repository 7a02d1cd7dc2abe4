// SPDX-License-Identifier: Apache-2.0
// Topic: devices and streams of arrays.

#include <new>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "allocator_handle.h"
#include "array_topics.h"
#include "array_values.h"
#include "bindings.h"
#include "strandline/alloc/default_allocator.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/device.h"
#include "strandline/array/operations.h"

namespace strandline::python {
namespace {

using array::Device;
using array::Stream;

// Of an object of strandline.allocators, which has ours in it, or of None.
Device make_device(nb::handle allocator) {
  if (allocator.is_none()) return Device::host();
  AllocatorHandle handle;
  if (!nb::hasattr(allocator, "_native") || !nb::try_cast(allocator.attr("_native"), handle)) {
    throw_type("Device", "allocator", allocator, "a strandline allocator or None");
  }
  device::Device& port = handle->device();
  // The allocator keeps its machine alive.
  return {std::shared_ptr<device::Device>(handle.allocator, &port), handle.allocator};
}

// Scopes of a thread, innermost last; Python's with statement opens and closes them in order.
thread_local std::vector<std::unique_ptr<array::StreamScope>> t_scopes;

void def_stream(nb::module_& m) {
  nb::class_<Stream>(m, "Stream", "An in-order queue of a device's work.")
      .def_prop_ro("device", &Stream::device)
      .def_prop_ro("number", [](const Stream& s) { return s.id().value; })
      .def_prop_ro("is_closed", &Stream::is_closed)
      .def(
          "close",
          [](Stream& s) {
            const ReleasedForWait released;
            s.close();
          },
          "Waits for its work and ends it.")
      .def(
          "__eq__", [](const Stream& a, const Stream& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, b: object) -> bool"))
      .def("__hash__", [](const Stream& s) { return static_cast<Py_hash_t>(s.id().value); })
      .def(
          "__repr__",
          [](const Stream& s) {
            return text_object("<strandline.array.Stream " + std::to_string(s.id().value) + " of " +
                               s.device().name() + ">");
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a list of definitions
void init_array_devices(nb::module_& m) {
  nb::class_<Device> device(m, "Device",
                            "Where arrays live: the device of an allocator. None is the host with "
                            "its default allocator.\n"
                            "\n"
                            "The host must reach the allocator's memory, else ValueError; "
                            "TypeError for other objects. Two\n"
                            "devices of one allocator are equal.");
  def_stream(m);
  device
      .def(
          "__init__",
          [](Device* self, const nb::object& allocator) {
            new (self) Device(make_device(allocator));
          },
          nb::arg("allocator") = nb::none(),
          nb::sig("def __init__(self, allocator: strandline.allocators.Allocator | None = None)"
                  " -> None"))
      .def_prop_ro(
          "name", [](const Device& d) { return text_object(d.name()); },
          nb::sig("def name(self) -> str"))
      .def_prop_ro("default_stream", &Device::default_stream)
      .def_prop_ro("queued_tasks", &Device::queued_tasks, "Work that was queued and has not run.")
      .def_prop_ro(
          "active_memory", [](const Device& d) { return d.allocator().active_bytes(); },
          "Bytes that its allocator has handed out.")
      .def(
          "__eq__", [](const Device& a, const Device& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, b: object) -> bool"))
      .def("__hash__", [](const Device& d) { return reinterpret_cast<Py_hash_t>(&d.port()) >> 4; })
      .def(
          "__repr__",
          [](const Device& d) {
            return text_object("<strandline.array.Device " + d.name() + ", " +
                               std::string(d.allocator().name()) + ">");
          },
          nb::sig("def __repr__(self) -> str"));
  m.def("default_device", &array::default_device, "The host until another is set.");
  m.def("set_default_device", &array::set_default_device, nb::arg("device"), "The one before.");
  m.def("new_stream", &array::new_stream, nb::arg("device"), "A further stream of a device.");
  m.def("current_stream", &array::current_stream, "Where this thread's operations go.");
  m.def(
      "push_stream",
      [](const Stream& stream) {
        t_scopes.push_back(std::make_unique<array::StreamScope>(stream));
      },
      nb::arg("stream"), "This thread's operations go there until pop_stream.");
  m.def(
      "pop_stream", [] { t_scopes.pop_back(); }, "Ends the innermost push_stream.");
  m.def("to_device", &array::to_device, nb::arg("a"), nb::arg("device"),
        "Another device's copy of an array.");
  m.def(
      "synchronize",
      [](const Device& of) {
        const ReleasedForWait released;
        array::synchronize(of);
      },
      nb::arg("device"), "Waits for all work of a device.");
  m.def(
      "synchronize",
      [](const Stream& of) {
        const ReleasedForWait released;
        array::synchronize(of);
      },
      nb::arg("stream"), "Waits for the work of a stream.");
}

}  // namespace strandline::python
