// SPDX-License-Identifier: Apache-2.0
// Topic: adapters, as they made themselves known to the recorder's list.

#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "allocator_handle.h"
#include "bindings.h"
#include "strandline/alloc/framework.h"
#include "strandline/core/error.h"
#include "strandline/record/adapter.h"
#include "strandline/record/recorder.h"

namespace strandline::python {
namespace {

using record::Adapter;

nb::object view_object(std::string_view text) {
  return text_object(std::string(text));
}

nb::typed<nb::dict, nb::str, int> hook_calls(const Adapter& adapter) {
  nb::typed<nb::dict, nb::str, int> result;
  for (const auto& [hook, calls] : adapter.hook_calls()) result[text_object(hook)] = calls;
  return result;
}

bool label_array(Adapter& adapter, std::uint64_t key, const std::string& label) {
  return adapter.label_array(ArrayKey{key}, record::recorder().tables().labels.intern(label));
}

/// The adapter's framework; throws InvalidArgument where its memory cannot come from ours.
alloc::Framework& framework_of(Adapter& adapter) {
  if (auto* framework = dynamic_cast<alloc::Framework*>(&adapter)) return *framework;
  throw InvalidArgument(error_message("use_allocator", "framework", std::string(adapter.name()),
                                      "one whose allocator can be replaced"));
}

nb::object used_allocator(Adapter& adapter) {
  const auto* framework = dynamic_cast<const alloc::Framework*>(&adapter);
  const alloc::Allocator* used = framework != nullptr ? framework->used_allocator() : nullptr;
  return used != nullptr ? view_object(used->name()) : nb::none();
}

nb::list list_adapters() {
  nb::list result;
  for (Adapter* adapter : record::adapters()) {
    result.append(nb::cast(adapter, nb::rv_policy::reference));
  }
  return result;
}

}  // namespace

void init_adapters(nb::module_& m) {
  nb::class_<Adapter>(m, "Adapter", "A framework that is being recorded as it is shipped.")
      .def_prop_ro(
          "name", [](const Adapter& a) { return view_object(a.name()); },
          nb::sig("def name(self) -> str"))
      .def_prop_ro(
          "framework_version", [](const Adapter& a) { return view_object(a.framework_version()); },
          nb::sig("def framework_version(self) -> str"), "The version it was built for.")
      .def("attach", &Adapter::attach,
           "Binds to the framework, which is loaded by now. Raises DeviceError with what to do.")
      .def("hook_calls", &hook_calls, "Calls each hook has seen so far, by the hook's name.")
      .def(
          "use_allocator",
          [](Adapter& adapter, const AllocatorHandle& allocator) {
            framework_of(adapter).use_allocator(allocator.allocator);
          },
          nb::arg("allocator"),
          "Puts an allocator beneath the framework. Raises ValueError when it is too late.")
      .def_prop_ro("allocator", &used_allocator, nb::sig("def allocator(self) -> str | None"),
                   "Name of the allocator beneath the framework; None for its own.")
      .def_prop_ro(
          "refusal", [](Adapter& a) { return text_object(framework_of(a).refusal()); },
          nb::sig("def refusal(self) -> str"), "Why it kept its own all the same, or empty.")
      .def("lost_bytes", &Adapter::lost_bytes,
           "Bytes the framework counts as active that no block stands for.")
      .def("label_array", &label_array, nb::arg("key"), nb::arg("label"),
           "Labels the node of an array; False when it is unknown.");
  m.def("adapters", &list_adapters, nb::sig("def adapters() -> list[Adapter]"),
        "Every adapter that is loaded.");
}

}  // namespace strandline::python
