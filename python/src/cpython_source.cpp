// SPDX-License-Identifier: Apache-2.0

#include "cpython_source.h"

#include <exception>

#include "cpython_compat.h"
#include "cpython_frames.h"

namespace strandline::python {
namespace {

using record::Fingerprint;
using record::Frame;
using record::RawFrame;

PyCodeObject* code_of(const RawFrame& frame) noexcept {
  return reinterpret_cast<PyCodeObject*>(static_cast<std::uintptr_t>(frame.code));
}

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

Frame frame_of(const RawFrame& raw) {
  const PendingExceptionGuard pending;
  PyCodeObject* code = code_of(raw);
  const int line = PyCode_Addr2Line(code, static_cast<int>(raw.offset));
  return {.file = utf8(code->co_filename),
          .function = utf8(code->co_qualname),
          .line = line > 0 ? static_cast<std::uint32_t>(line) : 0};
}

/// The interpreter lock, for a thread that may not have it.
class InterpreterLock {
 public:
  InterpreterLock() noexcept : state_(PyGILState_Ensure()) {}
  ~InterpreterLock() { PyGILState_Release(state_); }
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;

 private:
  const PyGILState_STATE state_;
};

}  // namespace

CpythonSource::CpythonSource(std::string_view method)
    : name_("CPython " + std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION) +
            " (" + std::string(method) + ")"),
      interpreter_(PyInterpreterState_Get()) {}

bool CpythonSource::can_gather() const noexcept {
  return looking_thread(interpreter_) != nullptr;
}

void CpythonSource::list_here(std::uint16_t source, FrameList& list) const noexcept {
  const PendingExceptionGuard pending;
  [[maybe_unused]] const NoCollectionGuard no_collection;
  list_frames_by_api(current_thread_state(), entry_.load(std::memory_order_relaxed), source, list);
}

TracebackId CpythonSource::gather(record::TracebackTable& table, std::uint16_t source) noexcept {
  FrameList list;
  list_here(source, list);
  if (list.count == 0) return {};
  const Fingerprint key = record::fingerprint_of(list.span(), list.truncated);
  if (const TracebackId known = table.find(key)) return known;
  return enter(table, key, list.span(), list.truncated);
}

bool CpythonSource::try_gather_site(record::TracebackTable& table, std::uint16_t source,
                                    TracebackId& site) noexcept {
  if (!can_gather()) return false;
  FrameList list;
  list_here(source, list);
  const std::span<const RawFrame> frames = list.span().first(list.count == 0 ? 0 : 1);
  const Fingerprint key = record::fingerprint_of(frames, false);
  site = table.find(key);
  if (!site) site = enter(table, key, frames, false);
  return true;
}

bool CpythonSource::try_key(Fingerprint& key) noexcept {
  if (!can_gather()) return false;
  FrameList list;
  list_here(0, list);
  key = record::fingerprint_of(list.span(), list.truncated);
  return true;
}

bool CpythonSource::try_list(std::uint16_t source, FrameList& list) noexcept {
  if (!can_gather()) return false;
  list_here(source, list);
  if (!keep(list.span())) list.count = 0;
  return true;
}

TracebackId CpythonSource::enter(record::TracebackTable& table, const Fingerprint& key,
                                 std::span<const RawFrame> frames, bool truncated) noexcept {
  if (frames.empty() || !keep(frames)) return {};
  record::note_new_stack();
  try {
    return table.insert(key, frames, truncated);
  } catch (const std::exception&) {
    return {};  // no memory for the table: this stack is not told
  }
}

bool CpythonSource::keep(std::span<const RawFrame> frames) noexcept {
  for (const RawFrame& frame : frames) {
    if (frame.source == record::kGapSource) continue;
    PyCodeObject* code = code_of(frame);
    if (Py_REFCNT(code) <= 0) return false;  // being freed: nothing can keep it
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
  const InterpreterLock lock;
  const auto known = resolved_.find(frame);
  if (known != resolved_.end()) return known->second;
  return resolved_.emplace(frame, frame_of(frame)).first->second;
}

void CpythonSource::while_resolving(const std::function<void()>& work) const {
  if (finalizing()) return work();
  const InterpreterLock lock;  // `resolve` takes it again, which costs nothing
  work();
}

void CpythonSource::set_entry(PyCodeObject* code) {
  if (code != nullptr && kept_.insert(code).second) Py_INCREF(code);
  entry_.store(code, std::memory_order_relaxed);
}

}  // namespace strandline::python
