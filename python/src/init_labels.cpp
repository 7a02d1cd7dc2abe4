// SPDX-License-Identifier: Apache-2.0
// Topic: labels of this thread, annotations of live blocks, phases.
// Nothing is touched when the recorder is off for good: in a forked child the locks of its tables
// may be held by threads that are not there.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "strandline/record/op_scope.h"
#include "strandline/record/recorder.h"

namespace strandline::python {
namespace {

using record::recorder;
using record::thread_state;

nb::object label() {
  if (!record::tracking()) return nb::none();
  return text_or_none(recorder().tables().labels.text(thread_state().label));
}

void set_label(const std::string& text) {
  if (!record::tracking()) return;
  thread_state().label = recorder().tables().labels.intern(text);
}

bool annotate(std::uint64_t address, const std::string& text) {
  if (!record::tracking()) return false;
  return recorder().annotate(address, recorder().tables().labels.intern(text));
}

bool annotate_array(std::uint64_t key, const std::string& text) {
  if (!record::tracking()) return false;
  return recorder().annotate_array(ArrayKey{key}, recorder().tables().labels.intern(text));
}

}  // namespace

void init_labels(nb::module_& m) {
  m.def("label", &label, nb::sig("def label() -> str | None"), "The label of this thread.");
  m.def("set_label", &set_label, nb::arg("text"),
        "Sets the label of this thread; empty clears it.");
  m.def("annotate", &annotate, nb::arg("address"), nb::arg("text"),
        "Labels the live block at `address`; False when there is none.");
  m.def("annotate_array", &annotate_array, nb::arg("key"), nb::arg("text"),
        "Labels the live block an array is bound to; False when there is none.");
  m.def(
      "begin_phase", [](const std::string& name) { return recorder().begin_phase(name); },
      nb::arg("name"), "Number of the new phase, 0 while recording is off.");
  m.def(
      "end_phase", [](std::uint32_t number) { recorder().end_phase(number); }, nb::arg("number"),
      "Ends a phase; 0 does nothing.");
}

}  // namespace strandline::python
