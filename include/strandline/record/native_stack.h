// SPDX-License-Identifier: Apache-2.0
// C++ stacks. Where a binding has opened an entry, the frames from the capture out to it are walked
// by their frame pointers, about 1 ns each: all of them are ours and keep theirs. Elsewhere the
// whole stack is unwound: by libunwind where it can be loaded, else by the compiler's unwinder.
//
//   Python  main.py:9          g                      entry 1 opened in binding B1
//   C++       B1 → evaluate → call back               callback of entry 1
//   Python      model.py:41    f                      entry 2 opened in binding B2
//   C++           B2 → allocate                       the capture
//
//   merged, innermost first: allocate, B2, f, call back, evaluate, B1, g
//
// The records say where the parts join, so no symbol is looked at. A return address is an identity:
// the modules of a stack seen for the first time are pinned and never unloaded.
#pragma once

#include <cstdint>
#include <memory>

#include "strandline/core/export.h"
#include "strandline/record/capture.h"

namespace strandline::record {

class CallbackScope;
struct ReturnAddresses;

/// How the C++ frames outward to an entry are found.
enum class CppFrames : std::uint8_t {
  keep_pointers,   ///< all are ours: by their frame pointers
  need_unwinding,  ///< others' code is among them: by the unwinder, as far as the runtime
};

/// Open while C++ runs on behalf of a caller of another language; one in the outermost function of
/// each binding. Entries nest. A C++ program may open one at the end of the stack that it wants.
class STRANDLINE_API BindingEntry {
 public:
  /// `frame` is that of the function that opens it, `language_frame` names the caller's, as
  /// FrameList::addresses does.
  explicit BindingEntry(const void* language_frame = nullptr,
                        const void* frame = __builtin_frame_address(0)) noexcept
      : BindingEntry(CppFrames::keep_pointers, language_frame, frame) {}
  BindingEntry(CppFrames frames, const void* language_frame,
               const void* frame = __builtin_frame_address(0)) noexcept;
  ~BindingEntry();
  BindingEntry(const BindingEntry&) = delete;
  BindingEntry& operator=(const BindingEntry&) = delete;

 private:
  friend class CallbackScope;
  friend class NativeWalk;

  const void* const frame_;
  const void* const language_frame_;
  const CallbackScope* callback_ = nullptr;  // innermost, null while C++ runs itself
  BindingEntry* const previous_;
  const CppFrames frames_;
};

/// Open while C++ runs code of the other language on the same thread. They nest. In an entry that
/// needs unwinding it takes the frames between the two, once for all captures in it: about half a
/// microsecond.
class STRANDLINE_API CallbackScope {
 public:
  explicit CallbackScope(const void* frame = __builtin_frame_address(0)) noexcept;
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  friend class NativeWalk;

  BindingEntry* const entry_;      // null when none is open
  const CallbackScope* previous_;  // of the same entry
  const void* const frame_;
  const void* const address_;  // in the function of that frame
  std::unique_ptr<ReturnAddresses> unwound_;
};

/// The frame of the language that runs on this thread now, for an entry; null without one.
STRANDLINE_API const void* language_frame() noexcept;

/// Where the code of the language's runtime lies: a stack unwound without an entry ends there.
STRANDLINE_API void set_language_runtime(const void* address_in_it) noexcept;

/// What unwinds where no entry is open: "libunwind" or "compiler's unwinder".
STRANDLINE_API const char* native_unwinder() noexcept;
/// What tells files and lines: "libbacktrace", or "symbol table" for names of functions alone.
STRANDLINE_API const char* native_symboliser() noexcept;

}  // namespace strandline::record
