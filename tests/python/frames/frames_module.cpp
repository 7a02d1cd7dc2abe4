// SPDX-License-Identifier: Apache-2.0
// The capture source of the product in a bare extension module, so that it can be built for any
// CPython with nothing but its headers. One table; every function is called under the lock.

#include <memory>
#include <string>

#include <Python.h>

#include "fast_source.h"

namespace {

using namespace strandline;

struct State {
  record::TracebackTable table{64ULL << 20};
  std::atomic<std::uint32_t> generation{0};  // grows with every clear
  python::CpythonSource* source = nullptr;
  std::string why_not;
};
State* g_state = nullptr;  // never destroyed, as in the product

PyObject* capture(PyObject*, PyObject*) {
  const TracebackId stack = record::capture_traceback(g_state->table);
  return PyLong_FromUnsignedLong(stack.value);
}

// (frames outermost first, truncated) of the id `capture` gave.
PyObject* resolve(PyObject*, PyObject* number) {
  const TracebackId stack{static_cast<std::uint32_t>(PyLong_AsUnsignedLong(number))};
  const std::vector<record::RawFrame> frames = g_state->table.frames(stack);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(frames.size()));
  Py_ssize_t at = static_cast<Py_ssize_t>(frames.size());
  for (const record::RawFrame& raw : frames) {
    const record::Frame frame = record::resolve_frame(raw);
    PyObject* tuple =
        Py_BuildValue("(ssI)", frame.file.c_str(), frame.function.c_str(), frame.line);
    PyList_SET_ITEM(list, --at, tuple);
  }
  return Py_BuildValue("(NO)", list, g_state->table.truncated(stack) ? Py_True : Py_False);
}

PyObject* describe(PyObject*, PyObject*) {
  return Py_BuildValue("(ss)", record::capture_sources_text().c_str(), g_state->why_not.c_str());
}

PyObject* set_entry(PyObject*, PyObject* code) {
  g_state->source->set_entry(code == Py_None ? nullptr : reinterpret_cast<PyCodeObject*>(code));
  Py_RETURN_NONE;
}

PyObject* clear(PyObject*, PyObject*) {
  g_state->table.clear();
  ++g_state->generation;
  Py_RETURN_NONE;
}

PyMethodDef g_methods[] = {
    {"capture", capture, METH_NOARGS, nullptr},   {"resolve", resolve, METH_O, nullptr},
    {"describe", describe, METH_NOARGS, nullptr}, {"set_entry", set_entry, METH_O, nullptr},
    {"clear", clear, METH_NOARGS, nullptr},       {nullptr, nullptr, 0, nullptr}};
PyModuleDef g_module = {.m_base = PyModuleDef_HEAD_INIT,
                        .m_name = "frames_module",
                        .m_doc = nullptr,
                        .m_size = -1,
                        .m_methods = g_methods,
                        .m_slots = nullptr,
                        .m_traverse = nullptr,
                        .m_clear = nullptr,
                        .m_free = nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_frames_module() {
  g_state = new State;
  std::unique_ptr<python::CpythonSource> source = python::make_cpython_source(g_state->why_not);
  g_state->source = source.get();
  source->remember_ids_of(g_state->table, g_state->generation);
  record::register_capture_source(std::move(source));
  return PyModule_Create(&g_module);
}
