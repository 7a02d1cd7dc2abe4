// SPDX-License-Identifier: Apache-2.0

#include "cpython_source.h"

#include <array>
#include <exception>
#include <span>

#include "cpython_compat.h"

namespace strandline::python {
namespace {

using record::Fingerprint;
using record::Frame;
using record::RawFrame;

std::uint64_t code_number(PyCodeObject* code) noexcept {
  return reinterpret_cast<std::uintptr_t>(code);
}

PyCodeObject* code_of(const RawFrame& frame) noexcept {
  return reinterpret_cast<PyCodeObject*>(static_cast<std::uintptr_t>(frame.code));
}

/// The frames of one moment, innermost first, and their fingerprint.
struct Walk {
  std::array<RawFrame, record::kMaxFrames> frames;
  std::size_t count = 0;
  bool truncated = false;
  Fingerprint fingerprint;

  void walk(PyThreadState* thread, const PyCodeObject* entry, std::uint16_t source) noexcept {
    PyFrameObject* frame = PyThreadState_GetFrame(thread);
    while (frame != nullptr) {
      // The frame is being executed and keeps its code: the reference can go at once.
      PyCodeObject* code = PyFrame_GetCode(frame);
      Py_DECREF(code);
      truncated = count == frames.size() && code != entry;
      if (code == entry || truncated) break;
      const auto offset = static_cast<std::uint32_t>(PyFrame_GetLasti(frame));
      frames[count++] = {.code = code_number(code), .offset = offset, .source = source};
      fingerprint.add(code_number(code), offset);
      PyFrameObject* back = PyFrame_GetBack(frame);
      Py_DECREF(frame);
      frame = back;
    }
    Py_XDECREF(frame);
  }

  std::span<const RawFrame> span() const noexcept { return {frames.data(), count}; }
};

std::string utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
  if (data != nullptr) return {data, static_cast<std::size_t>(size)};
  // Names of files that are not UTF-8 come with lone surrogates.
  PyErr_Clear();
  PyObject* bytes =
      PyUnicode_Check(text) ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : nullptr;
  if (bytes == nullptr) {
    PyErr_Clear();
    return "??";
  }
  std::string result(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
  Py_DECREF(bytes);
  return result;
}

}  // namespace

CpythonSource::CpythonSource()
    : name_("CPython " + std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION) +
            " (public API)"),
      interpreter_(PyInterpreterState_Get()) {}

bool CpythonSource::can_gather() const noexcept {
  PyThreadState* thread = current_thread_state();
  return thread != nullptr && PyThreadState_GetInterpreter(thread) == interpreter_ && !finalizing();
}

TracebackId CpythonSource::gather(record::TracebackTable& table, std::uint16_t source) noexcept {
  const PendingExceptionGuard pending;
  [[maybe_unused]] const NoCollectionGuard no_collection;
  Walk walk;
  walk.walk(current_thread_state(), entry_.load(std::memory_order_relaxed), source);
  if (walk.count == 0) return {};
  if (const TracebackId known = table.find(walk.fingerprint)) return known;
  if (!keep(walk.span())) return {};
  try {
    return table.insert(walk.fingerprint, walk.span(), walk.truncated);
  } catch (const std::exception&) {
    return {};  // no memory for the table: this stack is not told
  }
}

bool CpythonSource::keep(std::span<const RawFrame> frames) noexcept {
  for (const RawFrame& frame : frames) {
    PyCodeObject* code = code_of(frame);
    try {
      if (kept_.insert(code).second) Py_INCREF(code);
    } catch (const std::exception&) {
      return false;
    }
  }
  return true;
}

Frame CpythonSource::resolve(const RawFrame& frame) const {
  if (finalizing()) return {.file = "??", .function = "??", .line = 0};
  const PyGILState_STATE state = PyGILState_Ensure();
  Frame result;
  {
    const PendingExceptionGuard pending;
    PyCodeObject* code = code_of(frame);
    result.file = utf8(code->co_filename);
    result.function = utf8(code->co_qualname);
    const int line = PyCode_Addr2Line(code, static_cast<int>(frame.offset));
    result.line = line > 0 ? static_cast<std::uint32_t>(line) : 0;
  }
  PyGILState_Release(state);
  return result;
}

void CpythonSource::set_entry(PyCodeObject* code) {
  if (code != nullptr && kept_.insert(code).second) Py_INCREF(code);
  entry_.store(code, std::memory_order_relaxed);
}

}  // namespace strandline::python
