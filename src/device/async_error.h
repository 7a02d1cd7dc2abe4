// SPDX-License-Identifier: Apache-2.0
// An error of queued work on its way to the one wait that reports it. Shared by the stream it
// happened on and the device events recorded behind it.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "strandline/core/error.h"
#include "strandline/core/ids.h"

namespace strandline::device {

struct AsyncError {
  explicit AsyncError(std::string text) : message(std::move(text)) {}

  std::string message;
  bool is_out_of_range = false;  ///< of the data, which nobody could see before the work ran
  std::atomic<bool> reported{false};
};
using AsyncErrorPtr = std::shared_ptr<AsyncError>;

/// What the exception being handled says, as the failure of `operation`.
inline AsyncErrorPtr current_error(const std::string& operation, StreamId stream) {
  std::string what = "an exception that is no std::exception";
  try {
    throw;
  } catch (const OutOfRange& error) {
    auto kept = std::make_shared<AsyncError>(
        fmt::format("{} (found by {} on stream {})", error.what(), operation, stream.value));
    kept->is_out_of_range = true;
    return kept;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the text above says it
  }
  return std::make_shared<AsyncError>(
      error_message("wait", fmt::format("{} on stream {} failed", operation, stream.value), what,
                    "work that ends without an exception"));
}

inline bool is_open(const AsyncErrorPtr& error) {
  return error != nullptr && !error->reported.load(std::memory_order_acquire);
}

/// Throws the error if no other wait has reported it.
inline void report(const AsyncErrorPtr& error) {
  if (error == nullptr || error->reported.exchange(true)) return;
  if (error->is_out_of_range) throw OutOfRange(error->message);
  throw DeviceError(error->message);
}

}  // namespace strandline::device
