// SPDX-License-Identifier: Apache-2.0
// Entry of strandline._native.

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "interpreter_lock.h"

NB_MODULE(_native, m) {
  using namespace strandline::python;
  m.doc() = "Native half of strandline; use the functions of the package instead.";
  m.attr("version") = STRANDLINE_VERSION;
  report_leaks_of_lone_threads();
  init_errors(m);
  init_recorder(m);
  init_events(m);
  init_labels(m);
  init_capture(m);
  init_adapters(m);
  init_report(m);
  init_snapshot(m);
  init_stream(m);
  init_files(m);
  init_memory(m);
  init_sim(m);
  init_allocators(m);
  init_array(m);
  init_settings(m);
  init_columns(m);
  init_testing(m);
}
