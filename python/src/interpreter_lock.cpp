// SPDX-License-Identifier: Apache-2.0
#include "interpreter_lock.h"

#include <unistd.h>

namespace strandline::python {

namespace nb = nanobind;

void stay_here() noexcept {
  while (true) pause();
}

namespace {

bool has_other_threads() noexcept {
  PyThreadState* const first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  return first != nullptr && PyThreadState_Next(first) != nullptr;
}

}  // namespace

void report_leaks_of_lone_threads() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    if (has_other_threads()) nb::set_leak_warnings(false);
  }));
}

}  // namespace strandline::python
