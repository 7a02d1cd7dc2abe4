// SPDX-License-Identifier: Apache-2.0
// Argument checks that the parts of the port share. Each throws in the house's words.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "strandline/core/checked.h"
#include "strandline/core/error.h"
#include "strandline/device/facts.h"

namespace strandline::device {

[[noreturn]] inline void throw_invalid(std::string_view function, std::string_view what,
                                       std::string_view got, std::string_view expected) {
  throw InvalidArgument(error_message(function, what, got, expected));
}

[[noreturn]] inline void throw_device(std::string_view function, std::string_view what,
                                      std::string_view got, std::string_view expected) {
  throw DeviceError(error_message(function, what, got, expected));
}

inline void check_supported(bool supported, std::string_view function, std::string_view fact,
                            const Facts& facts) {
  if (supported) return;
  throw_invalid(function, fmt::format("{} does not support this", facts.name),
                fmt::format("Facts: {} is false", fact), "a device that says it does");
}

inline void check_positive(std::string_view function, std::uint64_t bytes) {
  if (bytes == 0) throw_invalid(function, "size", "0 bytes", "at least 1 byte");
}

inline void check_multiple(std::string_view function, std::string_view what, std::uint64_t value,
                           std::uint64_t unit) {
  if (value % unit == 0) return;
  throw_invalid(function, what, fmt::format("{:#x}", value), fmt::format("a multiple of {}", unit));
}

/// [address, address + bytes) does not pass the end of 64 bits.
inline void check_no_wrap(std::string_view function, std::uint64_t address, std::uint64_t bytes) {
  if (try_add(address, bytes)) return;
  throw_invalid(function, "range", fmt::format("{:#x} + {} bytes", address, bytes),
                "an end below 2^64");
}

[[noreturn]] inline void throw_out_of_memory(std::string_view function, std::string_view what,
                                             std::uint64_t requested, std::uint64_t available,
                                             std::uint64_t limit) {
  throw OutOfMemory(error_message(function, what, fmt::format("a request of {} bytes", requested),
                                  fmt::format("at most {} bytes of {}", available, limit)),
                    requested, available, limit);
}

}  // namespace strandline::device
