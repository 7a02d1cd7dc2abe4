// SPDX-License-Identifier: Apache-2.0
// Topic: settings strings of the segment allocator, decided but not applied to anything.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "strandline/alloc/settings.h"

namespace strandline::python {
namespace {

struct ToObject {
  nb::object operator()(std::monostate) const { return nb::none(); }
  nb::object operator()(const std::string& text) const { return text_object(text); }
  template <typename Plain>
  nb::object operator()(Plain plain) const {
    return nb::cast(plain);
  }
};

nb::dict object_of(const alloc::Settings& settings) {
  nb::dict result;
  for (const auto& [key, value] : alloc::settings_values(settings)) {
    result[key.c_str()] = std::visit(ToObject{}, value);
  }
  return result;
}

alloc::Decisions decisions_of(bool as_pytorch) {
  return as_pytorch ? alloc::Decisions::pytorch : alloc::Decisions::ours;
}

std::pair<nb::dict, std::vector<std::string>> parse(const std::string& text, bool as_pytorch) {
  alloc::Settings settings;
  alloc::SettingsReading reading = alloc::apply_settings(text, settings, decisions_of(as_pytorch));
  return {object_of(settings), std::move(reading.notes)};
}

std::pair<nb::dict, std::vector<std::string>> from_environment(bool as_pytorch) {
  alloc::EnvironmentSettings found = alloc::settings_from_environment(decisions_of(as_pytorch));
  return {object_of(found.settings), std::move(found.reading.notes)};
}

}  // namespace

void init_settings(nb::module_& m) {
  m.def("parse_settings", &parse, nb::arg("text"), nb::arg("as_pytorch"),
        nb::sig("def parse_settings(text: str, as_pytorch: bool) "
                "-> tuple[dict[str, None | bool | int | float | str], list[str]]"),
        "What a string decides from the defaults on, and notes for the user.");
  m.def("environment_settings", &from_environment, nb::arg("as_pytorch"),
        nb::sig("def environment_settings(as_pytorch: bool) "
                "-> tuple[dict[str, None | bool | int | float | str], list[str]]"),
        "The same, of the first variable that is set.");
}

}  // namespace strandline::python
