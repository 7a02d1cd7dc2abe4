// SPDX-License-Identifier: Apache-2.0
// Python's interpreter lock around waits, also while the interpreter ends. Threads of daemons that
// ask for the lock then are ended by CPython up to 3.13, which unwinds their stacks: frames of C++
// that must not throw end the process instead. Here such a thread stays where it is, as CPython
// has it from 3.14 on.
#pragma once

#include <utility>

#include <cxxabi.h>
#include <nanobind/nanobind.h>

namespace strandline::python {

/// Returns never: the process is about to end.
[[noreturn]] void stay_here() noexcept;

/// `call()`, which runs Python code.
template <typename Call>
decltype(auto) held_at_exit(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (abi::__forced_unwind&) {
    stay_here();
  }
}

/// Lets go of the interpreter lock for the lifetime of the guard.
class ReleasedLock {
 public:
  ReleasedLock() noexcept : state_(PyEval_SaveThread()) {}
  ~ReleasedLock() {
    held_at_exit([this] { PyEval_RestoreThread(state_); });
  }
  ReleasedLock(const ReleasedLock&) = delete;
  ReleasedLock& operator=(const ReleasedLock&) = delete;

 private:
  PyThreadState* state_;
};

/// nanobind's report of leaks at exit counts what other threads hold: it is for programs that have
/// none left.
void report_leaks_of_lone_threads();

}  // namespace strandline::python
