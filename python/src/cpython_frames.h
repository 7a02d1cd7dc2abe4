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

#include "cpython_compat.h"
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
inline PyThreadState* looking_thread(PyInterpreterState* interpreter) noexcept {
  PyThreadState* thread = current_thread_state();
  const bool may_look = thread != nullptr && thread->interp == interpreter && !finalizing();
  return may_look ? thread : nullptr;
}

/// The frames of a stack whose key was asked for lately. Frames lie on a stack of their own, so the
/// next capture mostly finds the same ones in the same places: with their addresses known
/// beforehand, it need not wait for each frame to tell where the next one is. All is compared again
/// from the innermost frame outward; nothing is believed.
class RecentStack {
 public:
  /// Identity of the stack as it was when StackMemo gave it; equal for equal stacks.
  record::Fingerprint key() const noexcept;

  /// What `keep_id` was given for a stack that has not changed since; none otherwise.
  TracebackId id(std::uint32_t generation) const noexcept {
    return generation == generation_ ? id_ : TracebackId{};
  }
  /// `generation` is that of the table, read before it was asked for `id`.
  void keep_id(TracebackId id, std::uint32_t generation) noexcept {
    id_ = id;
    generation_ = generation;
  }

 private:
  friend class StackMemo;
  struct Known {
    const void* frame = nullptr;
    std::uintptr_t ip = 0;
  };
  struct Walk;
  static constexpr std::size_t kUnrolled = 16;

  bool follow(const void* first) noexcept;
  bool walk(const void* first, std::uintptr_t entry) noexcept;
  template <std::size_t From>
  static std::size_t count_unchanged(const Known* known, const void* frame) noexcept;
  void note_change(std::size_t at, std::uintptr_t change) noexcept;

  // Behind the last frame comes one that equals none.
  std::array<Known, record::kMaxFrames + kUnrolled + 1> known_{};
  std::size_t count_ = 0;  // 0: none
  std::uint64_t low_ = 0;  // entry + Σ ip[i] · K[i]
  std::uint64_t high_ = 0;
  TracebackId id_{};
  std::uint32_t generation_ = 0;
};

/// The recent stacks, told apart by their innermost frame. One for all threads, under the
/// interpreter lock.
class StackMemo {
 public:
  /// The stack of this thread; null when it is deeper than what is remembered. About half a
  /// nanosecond a frame where the frames are those of an earlier call, else about 1 ns.
  RecentStack* stack_here(PyThreadState* thread, CodeRange entry) noexcept;
  /// Its identity, however deep it is.
  record::Fingerprint key_of_stack(PyThreadState* thread, CodeRange entry) noexcept;

 private:
  static constexpr std::size_t kStacks = 8;

  std::array<RecentStack, kStacks> stacks_{};
  std::uintptr_t entry_ = 0;  // which frames are listed depends on the entry: keys start from it
};

/// The frame that runs now, null without one.
const void* current_frame(PyThreadState* thread) noexcept;
/// What changes while Python code runs on this thread that was not running before, and is as it was
/// when that code has returned; null where it is not known.
const void* const* running_mark(PyThreadState* thread) noexcept;
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
