// SPDX-License-Identifier: Apache-2.0
// The return addresses of this thread's C++ frames, in the parts that binding entries make of them.
// Private to the room; see native_stack.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "strandline/record/native_stack.h"

namespace strandline::record {

/// Return addresses, innermost first.
struct ReturnAddresses {
  std::array<std::uintptr_t, kMaxFrames> values;
  std::size_t count = 0;
  bool truncated = false;

  void add(std::uintptr_t address) noexcept {
    if (count == values.size()) {
      truncated = true;
    } else {
      values[count++] = address;
    }
  }
  std::span<const std::uintptr_t> span() const noexcept { return {values.data(), count}; }
};

/// Goes through the parts from the innermost outward.
class NativeWalk {
 public:
  /// `frame` is where the innermost part begins: the return address stored there comes first.
  explicit NativeWalk(const void* frame) noexcept;

  /// Adds the addresses of the part; false after the last one.
  bool next(ReturnAddresses& part) noexcept;
  /// The frame of the language that the part just given was called from; null without an entry.
  const void* caller() const noexcept { return caller_; }
  /// Whether there may be several parts.
  bool is_nested() const noexcept { return is_nested_; }

 private:
  void add_part(const void* from, ReturnAddresses& part) noexcept;

  const void* frame_;
  const BindingEntry* entry_;                // of the next part, null when there is none
  const CallbackScope* callback_ = nullptr;  // that the next part has made, null for the first
  const void* caller_ = nullptr;
  bool is_in_entry_;
  const bool is_nested_;
  bool done_ = false;
};

/// Unwinds everything outward of `frame`, as far as the language's runtime.
void unwind_all(const void* frame, ReturnAddresses& addresses) noexcept;

/// Keeps the module of an address loaded for ever; false when the address is in none.
bool pin_module(std::uintptr_t address) noexcept;

/// File, function and line of a return address; what is not known is told as module + offset.
Frame resolve_native(std::uintptr_t return_address);

}  // namespace strandline::record
