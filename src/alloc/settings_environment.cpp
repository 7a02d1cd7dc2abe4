// SPDX-License-Identifier: Apache-2.0
// The variables, in the order in which they are looked for.
#include <array>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "alloc/faults.h"
#include "alloc/settings_read.h"

namespace strandline::alloc {
namespace {

constexpr std::array kVariables = {"STRANDLINE_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                   "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"};
constexpr std::array kAsPyTorch = {"STRANDLINE_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
                                   "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

}  // namespace

EnvironmentSettings settings_from_environment(Decisions decisions) {
  EnvironmentSettings found;
  std::vector<std::string> others;
  for (const char* variable : decisions == Decisions::pytorch ? kAsPyTorch : kVariables) {
    const char* text = std::getenv(variable);
    if (text == nullptr ||
        (is_on(Fault::D19_one_variable_is_not_read) && variable == kVariables[1])) {
      continue;
    }
    if (found.variable.empty()) {
      found.variable = variable;
      found.text = text;
    } else if (found.text != text) {
      others.emplace_back(variable);
    }
  }
  if (found.variable.empty()) return found;
  found.reading = settings::read_into(found.text, found.variable, found.settings, decisions);
  for (const std::string& other : others) {
    found.reading.notes.push_back(
        fmt::format("{} is not read, {} comes before it", other, found.variable));
  }
  return found;
}

}  // namespace strandline::alloc
