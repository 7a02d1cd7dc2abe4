// SPDX-License-Identifier: Apache-2.0
// What worker.py calls: captures by each method, in a loop here or once a call, with the caches as
// they are or disturbed before.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <Python.h>
#include <time.h>

#include "fast_source.h"
#include "strandline/core/clock.h"
#include "strandline/record/recorder.h"
#include "writeup.h"

namespace strandline::bench {
namespace {

enum Method : int { kNothing, kOurs, kWriteup, kRecorded, kMethods };

WriteupCapture& writeup() {
  static WriteupCapture& capture = *new WriteupCapture;
  return capture;
}

record::TracebackTable& table() {
  return record::recorder().tables().tracebacks;
}

std::uint32_t recorded_allocation() {
  constexpr std::uint64_t kAddress = 0x7000'0000'0000;
  record::recorder().note_alloc({.address = kAddress, .size = 4096, .requested = 4000});
  record::recorder().note_free({.address = kAddress, .size = 4096});
  return 1;
}

std::uint32_t once(int method) {
  switch (method) {
    case kOurs:
      return record::capture_traceback(table()).value;
    case kWriteup:
      return writeup().capture();
    case kRecorded:
      return recorded_allocation();
    default:
      return 0;
  }
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Captures once; the number of the stack.
PyObject* capture(PyObject*, PyObject* method) {
  return PyLong_FromUnsignedLong(once(static_cast<int>(PyLong_AsLong(method))));
}

// The same without its answer: a number above 256 is an object of its own, at a third of the price
// of what is measured.
PyObject* capture_only(PyObject*, PyObject* method) {
  [[maybe_unused]] const volatile std::uint32_t last =
      once(static_cast<int>(PyLong_AsLong(method)));
  Py_RETURN_NONE;
}

// ns a capture over `count` of them, nothing changing in between.
PyObject* loop(PyObject*, PyObject* arguments) {
  int method = 0;
  long count = 0;
  if (PyArg_ParseTuple(arguments, "il", &method, &count) == 0) return nullptr;
  std::uint32_t sum = 0;
  const std::int64_t start = now_ns();
  for (long i = 0; i < count; ++i) sum += once(method);
  const std::int64_t end = now_ns();
  if (sum == 0 && method != kNothing) {
    PyErr_SetString(PyExc_RuntimeError, "nothing was captured");
    return nullptr;
  }
  return PyFloat_FromDouble(static_cast<double>(end - start) / static_cast<double>(count));
}

// Ticks of the counter for one capture, after `bytes` of other memory have been written.
PyObject* ticks_after_touching(PyObject*, PyObject* arguments) {
  int method = 0;
  Py_ssize_t bytes = 0;
  if (PyArg_ParseTuple(arguments, "in", &method, &bytes) == 0) return nullptr;
  static std::vector<unsigned char>& other = *new std::vector<unsigned char>(8 << 20);
  volatile unsigned char* memory = other.data();
  for (Py_ssize_t i = 0; i < bytes; i += 64) memory[i] = static_cast<unsigned char>(memory[i] + 1);
  const std::uint64_t start = clock_ticks();
  const volatile std::uint32_t number = once(method);
  (void)number;
  return PyLong_FromUnsignedLongLong(clock_ticks() - start);
}

PyObject* ticks_now(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(clock_ticks());
}

PyObject* frames_of(PyObject*, PyObject* number) {
  const TracebackId stack{static_cast<std::uint32_t>(PyLong_AsUnsignedLong(number))};
  const std::vector<record::RawFrame> raw = table().frames(stack);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(raw.size()));
  auto at = static_cast<Py_ssize_t>(raw.size());
  for (const record::RawFrame& one : raw) {
    const record::Frame frame = record::resolve_frame(one);
    PyList_SET_ITEM(list, --at, Py_BuildValue("(sI)", frame.function.c_str(), frame.line));
  }
  return list;
}

PyMethodDef g_methods[] = {{"capture", capture, METH_O, nullptr},
                           {"capture_only", capture_only, METH_O, nullptr},
                           {"loop", loop, METH_VARARGS, nullptr},
                           {"ticks_after_touching", ticks_after_touching, METH_VARARGS, nullptr},
                           {"ticks_now", ticks_now, METH_NOARGS, nullptr},
                           {"frames_of", frames_of, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "capture_module",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace strandline::bench

PyMODINIT_FUNC PyInit_capture_module() {
  using namespace strandline;
  std::string why_not;
  record::register_capture_source(python::make_cpython_source(why_not));
  if (!why_not.empty()) {
    PyErr_SetString(PyExc_ImportError, why_not.c_str());
    return nullptr;
  }
  record::recorder().start({.max_entries = 1 << 16});
  return PyModule_Create(&bench::g_module);
}
