// SPDX-License-Identifier: Apache-2.0
// Message layout of the errors, and the throwing forms of checked arithmetic.
#include "strandline/core/error.h"

#include <string>

#include "strandline/core/checked.h"

namespace strandline {

std::string error_message(std::string_view function, std::string_view what, std::string_view got,
                          std::string_view expected) {
  std::string text;
  text.reserve(function.size() + what.size() + got.size() + expected.size() + 24);
  text.append("[").append(function).append("] ").append(what);
  text.append("; got ").append(got).append(", expected ").append(expected);
  return text;
}

namespace {

std::uint64_t value_or_throw(std::optional<std::uint64_t> value, const char* function,
                             std::uint64_t a, std::uint64_t b) {
  if (value) return *value;
  throw InvalidArgument(error_message(function, "size exceeds 64 bits",
                                      std::to_string(a) + " and " + std::to_string(b),
                                      "a result below 2^64"));
}

}  // namespace

std::uint64_t checked_add(std::uint64_t a, std::uint64_t b) {
  return value_or_throw(try_add(a, b), "checked_add", a, b);
}

std::uint64_t checked_multiply(std::uint64_t a, std::uint64_t b) {
  return value_or_throw(try_multiply(a, b), "checked_multiply", a, b);
}

std::uint64_t checked_round_up(std::uint64_t bytes, std::uint64_t unit) {
  if (unit == 0) {
    throw InvalidArgument(
        error_message("checked_round_up", "unit of rounding", "0", "a positive number of bytes"));
  }
  return value_or_throw(try_round_up(bytes, unit), "checked_round_up", bytes, unit);
}

}  // namespace strandline
