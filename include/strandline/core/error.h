// SPDX-License-Identifier: Apache-2.0
// The exceptions of the C++ surface; nothing else is thrown by Strandline.
// Messages read `[function] what; got X, expected Y`. Deallocation, destructors and everything the
// recorder does inside a program are noexcept: they count and log once instead.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "strandline/core/export.h"

namespace strandline {

/// Base of all errors; `what()` is one line.
class STRANDLINE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// A value the caller passed cannot be used. Python: ValueError.
class STRANDLINE_API InvalidArgument : public Error {
  using Error::Error;
};

/// An index or id outside what exists. Python: IndexError.
class STRANDLINE_API OutOfRange : public Error {
  using Error::Error;
};

/// A value of the wrong kind. Python: TypeError.
class STRANDLINE_API TypeMismatch : public Error {
  using Error::Error;
};

/// Memory could not be had. Python: strandline.OutOfMemoryError, a MemoryError. Sizes in bytes.
class STRANDLINE_API OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& message, std::uint64_t requested_bytes,
              std::uint64_t available_bytes, std::uint64_t limit_bytes)
      : Error(message),
        requested(requested_bytes),
        available(available_bytes),
        limit(limit_bytes) {}

  std::uint64_t requested;
  std::uint64_t available;
  std::uint64_t limit;
};

/// The device or the operating system refused a call. Python: a RuntimeError.
class STRANDLINE_API DeviceError : public Error {
  using Error::Error;
};

/// A file is not what it says it is. Python: a ValueError with `offset`.
class STRANDLINE_API FormatError : public Error {
 public:
  FormatError(const std::string& message, std::uint64_t offset_bytes)
      : Error(message), offset(offset_bytes) {}

  std::uint64_t offset;  ///< where in the file, bytes from its start
};

/// A bug of ours. Python: RuntimeError.
class STRANDLINE_API InternalError : public Error {
  using Error::Error;
};

/// `[function] what; got X, expected Y`.
STRANDLINE_API std::string error_message(std::string_view function, std::string_view what,
                                         std::string_view got, std::string_view expected);

}  // namespace strandline
