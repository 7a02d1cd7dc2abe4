// SPDX-License-Identifier: Apache-2.0
// Topic: what allocators and adapters call, for tests and for runtimes written in Python.
// The submodule strandline._native.testing; its functions write to the process's recorder.

#include <string_view>
#include <thread>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "cpython_frames.h"
#include "interpreter_lock.h"
#include "strandline/core/error.h"
#include "strandline/record/capture.h"
#include "strandline/record/layout.h"
#include "strandline/record/native_stack.h"
#include "strandline/record/op_scope.h"
#include "strandline/record/recorder.h"

namespace strandline::python {
namespace {

using record::Action;
using record::recorder;

Action action_named(const std::string& name) {
  for (std::size_t i = 1; i < record::kActionCount; ++i) {
    const auto action = static_cast<Action>(i);
    if (record::action_name(action) == name) return action;
  }
  throw InvalidArgument(error_message("testing", "action", name, "the name of an action"));
}

record::Dtype dtype_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(record::Dtype::complex128); ++i) {
    const auto dtype = static_cast<record::Dtype>(i);
    if (record::dtype_name(dtype) == name) return dtype;
  }
  throw InvalidArgument(error_message("testing", "dtype", name, "the name of a dtype"));
}

LayoutId layout(const std::vector<std::int64_t>& shape, const std::string& dtype) {
  if (dtype.empty()) return {};
  return recorder().tables().layouts.intern(shape, dtype_named(dtype));
}

LayoutId layout_in(void* outputs, std::uint64_t /*bytes*/) noexcept {
  return *static_cast<LayoutId*>(outputs);
}

/// Calls `function` from C++ that Python has called.
void call_back(const nb::callable& function) {
  const record::BindingEntry entry(current_frame(PyThreadState_Get()));
  const record::CallbackScope callback;
  function();
}

/// note_alloc of a small block inside a binding entry.
void note_alloc_in_entry(std::uint64_t address) {
  const record::BindingEntry entry(current_frame(PyThreadState_Get()));
  recorder().note_alloc({.address = address, .size = 64, .requested = 64});
}

/// Inside the scope of `op` when there is one; its traceback is that of the caller.
void note_alloc(const std::string& action, std::uint64_t address, std::uint64_t size,
                std::uint64_t requested, const std::string& op,
                const std::vector<std::int64_t>& shape, const std::string& dtype,
                std::uint64_t stream, std::uint64_t pool, const std::string& owner,
                std::uint8_t device) {
  record::Tables& tables = recorder().tables();
  const record::Allocation allocation{.action = action_named(action),
                                      .address = address,
                                      .size = size,
                                      .requested = requested,
                                      .owner = tables.owners.intern(owner),
                                      .stream = tables.streams.intern(stream),
                                      .pool = pool == 0 ? PoolId{} : tables.pools.intern(pool),
                                      .device = device};
  if (op.empty()) return recorder().note_alloc(allocation);
  LayoutId first_output = layout(shape, dtype);
  const record::OpContext context{.op = tables.ops.intern(op),
                                  .traceback = record::capture_traceback(tables.tracebacks),
                                  .label = record::thread_state().label,
                                  .layout_of = &layout_in,
                                  .outputs = &first_output};
  const record::OpScope scope(context);
  recorder().note_alloc(allocation);
}

void note_free(const std::string& action, std::uint64_t address, std::uint64_t size,
               std::uint64_t stream, std::uint8_t device) {
  recorder().note_free({.action = action_named(action),
                        .address = address,
                        .size = size,
                        .stream = recorder().tables().streams.intern(stream),
                        .device = device});
}

void bind(std::uint64_t address, std::uint64_t array, const std::string& op,
          const std::vector<std::int64_t>& shape, const std::string& dtype,
          std::uint64_t view_bytes, std::uint64_t view_offset) {
  record::Tables& tables = recorder().tables();
  recorder().bind(address, ArrayKey{array},
                  {.traceback = record::capture_traceback(tables.tracebacks),
                   .op = tables.ops.intern(op),
                   .layout = layout(shape, dtype),
                   .label = record::thread_state().label,
                   .view_bytes = view_bytes,
                   .view_offset = view_offset});
}

void note_segment(const std::string& action, std::uint64_t address, std::uint64_t size) {
  recorder().note_segment(action_named(action), address, size, {}, {}, 0);
}

nb::object capture() {
  record::Tables& tables = recorder().tables();
  return TracebackReader(tables).calling(record::capture_traceback(tables.tracebacks));
}

/// Captures while `exception` is pending, which must survive it.
void capture_while_raising(nb::handle exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  record::capture_traceback(recorder().tables().tracebacks);
  throw nb::python_error();
}

bool can_capture_without_lock() {
  const ReleasedLock release;
  return record::can_capture();
}

/// On a thread that Python knows nothing of, while this one holds the interpreter lock.
bool can_capture_on_foreign_thread() {
  bool result = true;
  std::thread([&] { result = record::can_capture(); }).join();
  return result;
}

void def_writers(nb::module_& m) {
  const std::vector<std::int64_t> no_shape;
  m.def("note_alloc", &note_alloc, nb::arg("action"), nb::arg("address"), nb::arg("size"),
        nb::arg("requested"), nb::kw_only(), nb::arg("op") = "", nb::arg("shape") = no_shape,
        nb::arg("dtype") = "", nb::arg("stream") = 0, nb::arg("pool") = 0, nb::arg("owner") = "",
        nb::arg("device") = 0, "One allocation; with `op` inside a scope of that operation.");
  m.def("note_alloc_in_entry", &note_alloc_in_entry, nb::arg("address"),
        "An allocation of 64 bytes inside a binding entry.");
  m.def("call_back", &call_back, nb::arg("function"),
        nb::sig("def call_back(function: collections.abc.Callable[[], object]) -> None"),
        "Calls a function from C++ that has noted where it was entered and where it calls back.");
  m.def("note_free", &note_free, nb::arg("action"), nb::arg("address"), nb::kw_only(),
        nb::arg("size") = 0, nb::arg("stream") = 0, nb::arg("device") = 0,
        "The end of a block; `size` is used when it is unknown.");
  m.def("note_segment", &note_segment, nb::arg("action"), nb::arg("address"), nb::arg("size"),
        "A segment event, or cache_to_device.");
  m.def("bind", &bind, nb::arg("address"), nb::arg("array"), nb::kw_only(), nb::arg("op") = "",
        nb::arg("shape") = no_shape, nb::arg("dtype") = "", nb::arg("view_bytes") = 0,
        nb::arg("view_offset") = 0, "Binds the array of a key to the block at `address`.");
  m.def(
      "leave", [](std::uint64_t array) { recorder().leave(ArrayKey{array}); }, nb::arg("array"),
      "The array of a key dies.");
  m.def(
      "fail", [](const std::string& what) { recorder().fail(what.c_str()); }, nb::arg("what"),
      "Turns the recorder off for good, as a fault inside it does.");
}

void def_captures(nb::module_& m) {
  m.def("capture", &capture, nb::sig("def capture() -> list[tuple[str, str, int]] | None"),
        "The stack of this thread, outermost first.");
  m.def("capture_while_raising", &capture_while_raising, nb::arg("exception"),
        nb::sig("def capture_while_raising(exception: BaseException) -> typing.NoReturn"),
        "Captures while an exception is pending, then raises it.");
  m.def("can_capture_without_lock", &can_capture_without_lock,
        "What can_capture says once this thread has let go of the interpreter lock.");
  m.def("can_capture_on_foreign_thread", &can_capture_on_foreign_thread,
        "What can_capture says on a thread Python knows nothing of.");
}

/// Throws one of each C++ error, to see what Python makes of it.
void throw_error(const std::string& kind, const std::string& message) {
  if (kind == "InvalidArgument") throw InvalidArgument(message);
  if (kind == "OutOfRange") throw OutOfRange(message);
  if (kind == "TypeMismatch") throw TypeMismatch(message);
  if (kind == "OutOfMemory") throw OutOfMemory(message, 4096, 1024, 2048);
  if (kind == "DeviceError") throw DeviceError(message);
  if (kind == "FormatError") throw FormatError(message, 17);
  throw InternalError(message);
}

}  // namespace

void init_testing(nb::module_& m) {
  nb::module_ testing = m.def_submodule("testing", "What allocators and adapters call.");
  def_writers(testing);
  def_captures(testing);
  testing.def("throw_error", &throw_error, nb::arg("kind"), nb::arg("message"),
              nb::sig("def throw_error(kind: str, message: str) -> typing.NoReturn"),
              "Throws one of the library's errors.");
}

}  // namespace strandline::python
