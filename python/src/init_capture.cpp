// SPDX-License-Identifier: Apache-2.0
// Topic: the capture source of this interpreter. It is registered once a process, when the module
// is first loaded, and lives as long as the process.

#include <memory>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "fast_source.h"
#include "strandline/core/error.h"
#include "strandline/record/capture.h"
#include "strandline/record/native_stack.h"
#include "strandline/record/recorder.h"
#include "watched_calls.h"

namespace strandline::python {
namespace {

CpythonSource* g_source = nullptr;
std::string g_why_not_fast;

/// A function's code or None; the frames from it outward are left out of tracebacks.
void set_entry(nb::handle code) {
  if (code.is_none()) {
    g_source->set_entry(nullptr);
    return;
  }
  if (!PyCode_Check(code.ptr())) {
    throw TypeMismatch(error_message("set_entry", "code", nb::type_name(code.type()).c_str(),
                                     "a code object or None"));
  }
  g_source->set_entry(reinterpret_cast<PyCodeObject*>(code.ptr()));
}

nb::typed<nb::list, nb::typed<nb::dict, nb::str, int>> capture_counts() {
  nb::typed<nb::list, nb::typed<nb::dict, nb::str, int>> result;
  for (const record::CaptureCounts& counts : record::capture_counts()) {
    nb::dict entry;
    entry["thread"] = counts.thread;
    entry["captures"] = counts.captures;
    entry["new_stacks"] = counts.new_stacks;
    entry["failed"] = counts.failed;
    result.append(entry);
  }
  return result;
}

std::string native_capture() {
  return std::string(record::native_unwinder()) + ", " + record::native_symboliser();
}

}  // namespace

void init_capture(nb::module_& m) {
  if (g_source == nullptr) {
    std::unique_ptr<CpythonSource> source = make_cpython_source(g_why_not_fast);
    g_source = source.get();
    record::Tables& tables = record::recorder().tables();
    g_source->remember_ids_of(tables.tracebacks, tables.generation);
    record::register_capture_source(std::move(source));
    record::set_language_runtime(reinterpret_cast<const void*>(&PyEval_GetFrame));
  }
  m.def("set_entry", &set_entry, nb::arg("code").none(),
        nb::sig("def set_entry(code: types.CodeType | None) -> None"),
        "Frames of this code object and all outward of them are left out of tracebacks.");
  m.def(
      "can_capture", [] { return record::can_capture(); },
      "Whether some source can tell the stack of this thread.");
  m.def(
      "capture_sources", [] { return record::capture_sources_text(); },
      "Names of the capture sources, in order of preference.");
  m.def(
      "capture_fallback", [] { return g_why_not_fast; },
      "Why stacks come from CPython's public API; empty when its frames are read.");
  m.def(
      "watch_call", [](nb::handle callable) { return watch_call(callable.ptr()); },
      nb::arg("callable").none(), nb::sig("def watch_call(callable: object) -> bool"),
      "Gathers one stack for all that a call of this function makes. False where it is not a "
      "function of nanobind.");
  m.def("capture_counts", &capture_counts, "What each thread has captured.");
  m.def("native_capture", &native_capture,
        "What unwinds C++ stacks where no entry is open, and what tells their lines.");
}

}  // namespace strandline::python
