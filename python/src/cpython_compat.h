// SPDX-License-Identifier: Apache-2.0
// What CPython 3.11, 3.12 and 3.13 spell differently, for the capture source.
#pragma once

#include <Python.h>

#include "strandline/record/binding_call.h"

namespace strandline::python {

/// This thread's state, where it is known to hold the interpreter lock.
inline PyThreadState* holding_thread_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

/// This thread's state when it holds the interpreter lock, else null.
inline PyThreadState* current_thread_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet();
#else
  // 3.11 keeps the state of whichever thread holds the lock in a global. A binding call noted the
  // state of its own thread.
  PyThreadState* holder = _PyThreadState_UncheckedGet();
  if (holder == nullptr) return nullptr;
  const void* const* const noted = record::binding_call().watched;
  if (noted == reinterpret_cast<const void* const*>(&holder->cframe)) [[likely]] {
    return holder;
  }
  return holder == PyGILState_GetThisThreadState() ? holder : nullptr;
#endif
}

inline bool finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// Sets the pending exception aside, so that the calls in between cannot replace it.
class PendingExceptionGuard {
 public:
#if PY_VERSION_HEX >= 0x030C0000
  PendingExceptionGuard() noexcept : exception_(PyErr_GetRaisedException()) {}
  ~PendingExceptionGuard() {
    PyErr_SetRaisedException(exception_);
  }
#else
  PendingExceptionGuard() noexcept {
    PyErr_Fetch(&type_, &value_, &traceback_);
  }
  ~PendingExceptionGuard() {
    PyErr_Restore(type_, value_, traceback_);
  }
#endif
  PendingExceptionGuard(const PendingExceptionGuard&) = delete;
  PendingExceptionGuard& operator=(const PendingExceptionGuard&) = delete;

 private:
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* exception_;
#else
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
#endif
};

/// No collection while it lives. Up to 3.11 making a frame object may start one, whose finalizers
/// could free arrays and so enter an allocator that is being recorded.
class NoCollectionGuard {
 public:
#if PY_VERSION_HEX >= 0x030C0000
  NoCollectionGuard() noexcept = default;
#else
  NoCollectionGuard() noexcept : was_enabled_(PyGC_Disable() != 0) {}
  ~NoCollectionGuard() {
    if (was_enabled_) PyGC_Enable();
  }
#endif
  NoCollectionGuard(const NoCollectionGuard&) = delete;
  NoCollectionGuard& operator=(const NoCollectionGuard&) = delete;

 private:
#if PY_VERSION_HEX < 0x030C0000
  bool was_enabled_;
#endif
};

}  // namespace strandline::python
