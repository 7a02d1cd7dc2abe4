// SPDX-License-Identifier: Apache-2.0
// Enumerators by the names Python uses for them. Python's own code has checked the name; one that
// is not in the table is answered with InvalidArgument all the same.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "strandline/core/error.h"

namespace strandline::python {

template <typename Enum, std::size_t N>
using NameTable = std::array<std::pair<std::string_view, Enum>, N>;

template <typename Enum, std::size_t N>
Enum by_name(const char* what, std::string_view name, const NameTable<Enum, N>& table) {
  std::string known;
  for (const auto& [text, value] : table) {
    if (text == name) return value;
    known += (known.empty() ? "'" : " or '") + std::string(text) + "'";
  }
  throw InvalidArgument(error_message("strandline", what, "'" + std::string(name) + "'", known));
}

/// The name of an enumerator, ended by a null; "unknown" when the table lacks it.
template <typename Enum, std::size_t N>
constexpr std::string_view name_of(Enum value, const NameTable<Enum, N>& table) noexcept {
  for (const auto& [text, known] : table) {
    if (known == value) return text;
  }
  return "unknown";
}

/// The enumerator from 0 to `count` whose `name_of` is `name`.
template <typename Enum>
Enum by_name(const char* what, std::string_view name, std::size_t count,
             std::string_view (*name_of)(Enum) noexcept) {
  for (std::size_t i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  throw InvalidArgument(error_message("strandline", what, "'" + std::string(name) + "'",
                                      "a name such as '" + std::string(name_of(Enum{})) + "'"));
}

}  // namespace strandline::python
