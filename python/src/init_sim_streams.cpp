// SPDX-License-Identifier: Apache-2.0
// Topic: streams and device events of the simulated device, as methods of its machine. Streams and
// events are numbers here; strandline/sim.py makes classes of them.
// Whatever runs queued work, or waits for a thread that does, lets go of the interpreter lock: work
// may be Python's, and takes it.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "foreign_memory.h"
#include "interpreter_lock.h"
#include "memory_buffer.h"
#include "sim_machine.h"

namespace strandline::python {
namespace {

using device::DeviceEventId;
using StreamNumber = std::uint32_t;

device::Streams& streams(const SimMachine& machine) {
  return machine->device().streams();
}

void copy(const SimMachine& machine, StreamNumber stream, const MemoryBuffer& to,
          std::uint64_t to_offset, const MemoryBuffer& from, std::uint64_t from_offset,
          std::uint64_t bytes) {
  streams(machine).copy({stream}, to.slice("copy", to_offset, bytes),
                        from.slice("copy", from_offset, bytes));
}

void fill(const SimMachine& machine, StreamNumber stream, const MemoryBuffer& to,
          std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  streams(machine).fill({stream}, to.slice("fill", offset, bytes), std::byte{value});
}

void add_accesses(device::Work& work, const std::vector<const MemoryBuffer*>& buffers,
                  device::AccessMode mode) {
  for (const MemoryBuffer* buffer : buffers) {
    work.accesses.push_back({buffer->slice("work", 0, buffer->size()), mode});
  }
}

/// A callable of Python as work, on whichever thread runs it. Its last holder may be any thread.
class PythonBody {
 public:
  explicit PythonBody(nb::object callable) : callable_(callable.release().ptr()) {}
  ~PythonBody() { drop_later(callable_); }
  PythonBody(const PythonBody&) = delete;
  PythonBody& operator=(const PythonBody&) = delete;

  void operator()() const {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire held;
    nb::borrow(callable_)();
  }

 private:
  PyObject* callable_;
};

void enqueue(const SimMachine& machine, StreamNumber stream, const std::string& name,
             const std::vector<const MemoryBuffer*>& reads,
             const std::vector<const MemoryBuffer*>& writes, nb::object body) {
  device::Work work{.name = name, .accesses = {}, .binds = {}, .body = {}};
  add_accesses(work, reads, device::AccessMode::read);
  add_accesses(work, writes, device::AccessMode::write);
  drop_released_owners();
  if (!body.is_none()) {
    work.body = [kept = std::make_shared<PythonBody>(std::move(body))] { (*kept)(); };
  }
  streams(machine).enqueue({stream}, std::move(work));
}

bool is_done(device::EventStatus status) noexcept {
  return status == device::EventStatus::done;
}

void def_events(nb::class_<SimMachine>& machine) {
  machine
      .def(
          "create_event", [](const SimMachine& m) { return streams(m).create_event().value; },
          "A device event, never recorded.")
      .def(
          "destroy_event",
          [](const SimMachine& m, std::uint64_t event) {
            streams(m).destroy_event(DeviceEventId{event});
          },
          nb::arg("event"))
      .def(
          "record",
          [](const SimMachine& m, std::uint64_t event, StreamNumber stream) {
            streams(m).record(DeviceEventId{event}, {stream});
          },
          nb::arg("event"), nb::arg("stream"))
      .def(
          "stream_wait_event",
          [](const SimMachine& m, StreamNumber stream, std::uint64_t event) {
            streams(m).wait_event({stream}, DeviceEventId{event});
          },
          nb::arg("stream"), nb::arg("event"))
      .def(
          "wait_event",
          [](const SimMachine& m, std::uint64_t event) {
            const ReleasedLock released;
            streams(m).wait(DeviceEventId{event});
          },
          nb::arg("event"))
      .def(
          "event_is_done",
          [](const SimMachine& m, std::uint64_t event) {
            return is_done(streams(m).query(DeviceEventId{event}));
          },
          nb::arg("event"))
      .def(
          "event_ns",
          [](const SimMachine& m, std::uint64_t event) {
            return m->event_ns(DeviceEventId{event});
          },
          nb::arg("event"));
}

}  // namespace

void def_sim_streams(nb::class_<SimMachine>& machine) {
  machine
      .def(
          "create_stream",
          [](const SimMachine& m, const std::string& name) {
            return streams(m).create({.name = name}).value;
          },
          nb::arg("name"))
      .def(
          "destroy_stream",
          [](const SimMachine& m, StreamNumber stream) {
            const ReleasedLock released;
            streams(m).destroy({stream});
          },
          nb::arg("stream"))
      .def("copy", &copy, nb::arg("stream"), nb::arg("to"), nb::arg("to_offset"), nb::arg("source"),
           nb::arg("source_offset"), nb::arg("bytes"))
      .def("fill", &fill, nb::arg("stream"), nb::arg("to"), nb::arg("offset"), nb::arg("bytes"),
           nb::arg("value"))
      .def("enqueue", &enqueue, nb::arg("stream"), nb::arg("name"), nb::arg("reads"),
           nb::arg("writes"), nb::arg("body").none(),
           nb::sig("def enqueue(self, stream: int, name: str,"
                   " reads: collections.abc.Sequence[strandline._native.Buffer],"
                   " writes: collections.abc.Sequence[strandline._native.Buffer],"
                   " body: collections.abc.Callable[[], object] | None) -> None"))
      .def(
          "submit",
          [](const SimMachine& m, StreamNumber stream) {
            const ReleasedLock released;
            streams(m).submit({stream});
          },
          nb::arg("stream"))
      .def(
          "wait",
          [](const SimMachine& m, StreamNumber stream) {
            const ReleasedLock released;
            streams(m).wait(StreamId{stream});
          },
          nb::arg("stream"))
      .def("wait_all",
           [](const SimMachine& m) {
             const ReleasedLock released;
             streams(m).wait_all();
           })
      .def(
          "pending", [](const SimMachine& m, StreamNumber stream) { return m->pending({stream}); },
          nb::arg("stream"))
      .def(
          "run_one",
          [](const SimMachine& m, StreamNumber stream) {
            const ReleasedLock released;
            return m->run_one({stream});
          },
          nb::arg("stream"))
      .def("run_all", [](const SimMachine& m) {
        const ReleasedLock released;
        m->run_all();
      });
  def_events(machine);
}

}  // namespace strandline::python
