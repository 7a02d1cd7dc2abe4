// SPDX-License-Identifier: Apache-2.0
// The interpreter's own frames, read without making a frame object, and the same frames by the
// public API. The only place that knows how CPython lays frames out is cpython_frames.cpp.
//
// An instruction pointer lies inside its code object, so it names (code, offset) as long as the
// code lives: whoever keeps a key must keep the code of its frames (see CpythonSource::keep). A
// frame that Python's own tracebacks do not show (shims between C and Python, frames that have not
// begun) is part of the key and left out of the list: what is hidden follows from what is in the
// key.
//
// All of this is for the thread that runs it, which holds the interpreter lock.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include <Python.h>

#include "strandline/record/capture.h"

namespace strandline::python {

using record::FrameList;

/// The instructions of one code object; frames in it, and all outward of them, are not looked at.
struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t size = 0;  ///< bytes; 0 matches nothing

  bool contains(std::uintptr_t ip) const noexcept { return ip - begin < size; }
};
CodeRange instructions_of(PyCodeObject* code) noexcept;

/// Why frames cannot be read in this build of the module; null when they can.
const char* frames_unreadable() noexcept;

/// This thread's state when it may look at its stack: it holds the lock of `interpreter`, which is
/// not shutting down. Null otherwise.
PyThreadState* looking_thread(PyInterpreterState* interpreter) noexcept;

/// The frames of the stacks whose keys were asked for last. Frames lie on a stack of their own, so
/// the next capture mostly finds the same ones in the same places: with their addresses known
/// beforehand, it need not wait for each frame to tell where the next one is. All is compared again
/// from the innermost frame outward; nothing is believed. One for all threads, under the
/// interpreter lock.
class StackMemo {
 public:
  /// Identity of the stack; equal for equal stacks. About half a nanosecond a frame where the
  /// frames are those of an earlier call, else about 1 ns.
  record::Fingerprint key_of_stack(PyThreadState* thread, CodeRange entry) noexcept;

 private:
  struct Known {
    const void* frame = nullptr;
    std::uintptr_t ip = 0;
  };
  static constexpr std::size_t kStacks = 8;  // told apart by their innermost frame
  static constexpr std::size_t kUnrolled = 16;

  struct Stack {
    // Behind the last frame comes one that equals none.
    std::array<Known, record::kMaxFrames + kUnrolled + 1> known{};
    std::size_t count = 0;  // 0: none
    std::uint64_t low = 0;  // entry + Σ ip[i] · K[i]
    std::uint64_t high = 0;

    bool follow(const void* first) noexcept;
    bool walk(const void* first, std::uintptr_t entry) noexcept;
  };
  struct Walk;
  template <std::size_t... Index>
  static std::size_t count_unchanged(const Known* known, std::index_sequence<Index...>) noexcept;
  Stack& stack_of(const void* first, CodeRange entry) noexcept;

  std::array<Stack, kStacks> stacks_{};
  std::uintptr_t entry_ = 0;  // which frames are listed depends on the entry: keys start from it
};

/// The frame that runs now, null without one.
const void* current_frame(PyThreadState* thread) noexcept;
/// Instruction pointer of the innermost frame that Python shows; 0 when there is none.
std::uintptr_t innermost_ip(PyThreadState* thread, CodeRange entry) noexcept;
/// Fills `list` (count 0, all false) with what `key_of_stack` saw. Ambiguous is a generator that
/// has not begun: it shows or hides by its owner, which is no part of the key.
void list_frames(PyThreadState* thread, CodeRange entry, std::uint16_t source,
                 FrameList& list) noexcept;
/// The same by the public API, which makes an object for each frame. `addresses` are null.
void list_frames_by_api(PyThreadState* thread, const PyCodeObject* entry, std::uint16_t source,
                        FrameList& list) noexcept;

}  // namespace strandline::python
