// SPDX-License-Identifier: Apache-2.0
// Reads _PyInterpreterFrame of CPython 3.11, 3.12 and 3.13 by CPython's internal headers. A module
// is built for one minor version and, within one, the layout does not change; what is checked when
// the module is loaded is in frames_selftest.cpp.

#include "cpython_frames.h"

#include <utility>

#if !defined(PYPY_VERSION) && !defined(Py_GIL_DISABLED) && !defined(Py_DEBUG) && \
    PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 &&               \
    __has_include(<internal/pycore_frame.h>)
#define STRANDLINE_READS_FRAMES 1
#define Py_BUILD_CORE 1  // after Python.h: only the internal header shall see it
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#define STRANDLINE_READS_FRAMES 0
#endif

namespace strandline::python {

using record::Fingerprint;
using record::FrameListBuilder;
using record::kMaxFrames;

namespace {

// No further out in a stack than this: a program whose recursion runs away shall not wait for us.
constexpr std::size_t kMostSeen = 4096;

}  // namespace

void list_frames_by_api(PyThreadState* thread, const PyCodeObject* entry, std::uint16_t source,
                        FrameList& list) noexcept {
  FrameListBuilder builder(list);
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  while (frame != nullptr) {
    // The frame is being executed and keeps its code: the reference can go at once.
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);
    if (code == entry || builder.count() == kMostSeen) break;
    builder.add({.code = reinterpret_cast<std::uintptr_t>(code),
                 .offset = static_cast<std::uint32_t>(PyFrame_GetLasti(frame)),
                 .source = source},
                nullptr);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  builder.finish();
}

#if STRANDLINE_READS_FRAMES

namespace {

using InterpreterFrame = _PyInterpreterFrame;

#if PY_VERSION_HEX >= 0x030D0000
const InterpreterFrame* innermost(const PyThreadState* thread) noexcept {
  return thread->current_frame;
}
const void* const* mark_of(const PyThreadState* thread) noexcept {
  return reinterpret_cast<const void* const*>(&thread->current_frame);
}
std::uintptr_t ip_of(const InterpreterFrame* frame) noexcept {
  return reinterpret_cast<std::uintptr_t>(frame->instr_ptr);
}
PyCodeObject* code_of(const InterpreterFrame* frame) noexcept {
  return reinterpret_cast<PyCodeObject*>(frame->f_executable);
}
#else
const InterpreterFrame* innermost(const PyThreadState* thread) noexcept {
  return thread->cframe->current_frame;
}
// Every run of the interpreter that C code enters brings its own.
const void* const* mark_of(const PyThreadState* thread) noexcept {
  return reinterpret_cast<const void* const*>(&thread->cframe);
}
std::uintptr_t ip_of(const InterpreterFrame* frame) noexcept {
  return reinterpret_cast<std::uintptr_t>(frame->prev_instr);
}
PyCodeObject* code_of(const InterpreterFrame* frame) noexcept {
  return frame->f_code;
}
#endif

// Owners from 3 on are no Python code: the shim below a call from C (3.12 and later).
constexpr char kFirstForeignOwner = 3;

std::uintptr_t code_begin(PyCodeObject* code) noexcept {
  return reinterpret_cast<std::uintptr_t>(_PyCode_CODE(code));
}

// Before its first traceable instruction, which makes its cells or its generator object.
bool has_begun(std::uintptr_t ip, PyCodeObject* code) noexcept {
  const auto first = static_cast<std::uintptr_t>(code->_co_firsttraceable);
  return ip >= code_begin(code) + first * sizeof(_Py_CODEUNIT);
}

bool is_hidden(const InterpreterFrame* frame) noexcept {
  if (frame->owner >= kFirstForeignOwner) return true;
  return frame->owner != FRAME_OWNED_BY_GENERATOR && !has_begun(ip_of(frame), code_of(frame));
}

// A generator's frame that has not begun is shown once the generator owns it.
bool shows_by_owner(const InterpreterFrame* frame) noexcept {
  if (frame->owner >= kFirstForeignOwner || has_begun(ip_of(frame), code_of(frame))) return false;
  return (code_of(frame)->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

// Two sums Σ ip[i] · K[i] of odd random numbers K. The products do not wait for each other, so they
// are computed while the next frame's address is on its way from memory.
struct Multipliers {
  std::uint64_t low;
  std::uint64_t high;
};
constexpr std::array<Multipliers, kMaxFrames> make_multipliers() noexcept {
  std::array<Multipliers, kMaxFrames> result{};
  std::uint64_t state = 0x5851F42D4C957F2DULL;
  const auto next = [&state]() noexcept {  // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return (x ^ (x >> 31)) | 1;
  };
  for (Multipliers& position : result) {
    position.low = next();
    position.high = next();
  }
  return result;
}
alignas(64) constexpr std::array<Multipliers, kMaxFrames> kMultipliers = make_multipliers();

const InterpreterFrame* as_frame(const void* frame) noexcept {
  return static_cast<const InterpreterFrame*>(frame);
}

// Hides where a value comes from: the compiler must not put in its place an equal one that is
// known later.
const void* opaque(const void* value) noexcept {
  asm("" : "+r"(value));  // NOLINT(hicpp-no-assembler)
  return value;
}

const void* const kNoFrame = reinterpret_cast<const void*>(1);

// More frames than the multipliers reach: the stack is known by the frames it shows.
__attribute__((noinline, cold)) Fingerprint key_of_deep_stack(PyThreadState* thread,
                                                              CodeRange entry) noexcept {
  FrameList list;
  list_frames(thread, entry, 0, list);
  return fingerprint_of(list.span(), list.truncated);
}

}  // namespace

const char* frames_unreadable() noexcept {
  return nullptr;
}

CodeRange instructions_of(PyCodeObject* code) noexcept {
  if (code == nullptr) return {};
  // A frame that has just been made is one unit before the first.
  const std::uintptr_t unit = sizeof(_Py_CODEUNIT);
  return {.begin = code_begin(code) - unit,
          .size = (static_cast<std::uintptr_t>(Py_SIZE(code)) + 1) * unit};
}

// How many frames from known[From] on, of which `frame` is the first, are as they were; at most
// kUnrolled. One branch a frame, each at an address of its own, so that the end of a stack is
// predicted.
template <std::size_t From>
STRANDLINE_ALWAYS_INLINE std::size_t RecentStack::count_unchanged(const Known* known,
                                                                  const void* frame) noexcept {
  if constexpr (From == kUnrolled) {
    return From;
  } else {
    const void* const next = opaque(known[From + 1].frame);
    const InterpreterFrame* const at = as_frame(frame);
    if (at->previous != next || ip_of(at) != known[From].ip) [[unlikely]] {
      return From;
    }
    return count_unchanged<From + 1>(known, next);
  }
}

// False when the frames lie elsewhere. A frame is only read when the one before it, or the thread,
// has just told that it is the next.
STRANDLINE_ALWAYS_INLINE bool RecentStack::follow(const void* first) noexcept {
  if (count_ == 0 || known_[0].frame != first) return false;
  for (std::size_t i = 0;;) {
    const std::size_t unchanged = count_unchanged<0>(&known_[i], known_[i].frame);
    i += unchanged;
    if (unchanged == kUnrolled) continue;
    const InterpreterFrame* frame = as_frame(known_[i].frame);
    if (const std::uintptr_t change = ip_of(frame) - known_[i].ip; change != 0)
      note_change(i, change);
    if (++i == count_) return frame->previous == nullptr;
    if (frame->previous != known_[i].frame) return false;
  }
}

__attribute__((noinline)) void RecentStack::note_change(std::size_t at,
                                                        std::uintptr_t change) noexcept {
  low_ += change * kMultipliers[at].low;
  high_ += change * kMultipliers[at].high;
  known_[at].ip += change;
  id_ = {};
}

struct RecentStack::Walk {
  const InterpreterFrame* frame;
  std::uint64_t low;
  std::uint64_t high;
  std::size_t count = 0;

  // False at the end of the stack.
  __attribute__((always_inline)) bool add(const Multipliers& position, Known& known) noexcept {
    const std::uintptr_t ip = ip_of(frame);
    low += ip * position.low;
    high += ip * position.high;
    known = {.frame = frame, .ip = ip};
    frame = frame->previous;
    ++count;
    return frame != nullptr;
  }
  template <std::size_t... Index>
  __attribute__((always_inline)) void add_unrolled(Known* known,
                                                   std::index_sequence<Index...>) noexcept {
    const Multipliers* positions = &kMultipliers[count];
    (void)(add(positions[Index], known[Index]) && ...);
  }
};

// Learns the stack; false when it is deeper than the multipliers reach.
bool RecentStack::walk(const void* first, std::uintptr_t entry) noexcept {
  static_assert(kMaxFrames % kUnrolled == 0);
  Walk sums{.frame = as_frame(first), .low = entry, .high = entry};
  while (sums.frame != nullptr && sums.count < kMaxFrames) {
    sums.add_unrolled(&known_[sums.count], std::make_index_sequence<kUnrolled>{});
  }
  const bool is_whole = sums.frame == nullptr;
  known_[sums.count] = {.frame = kNoFrame, .ip = 0};
  count_ = is_whole ? sums.count : 0;
  low_ = sums.low;
  high_ = sums.high;
  id_ = {};
  return is_whole;
}

// The length, and the high bits, which know most, down to where the table looks.
Fingerprint RecentStack::key() const noexcept {
  Fingerprint key{.low = low_ ^ (low_ >> 32), .high = high_ ^ (high_ >> 32)};
  key.add(count_, 0);
  return key;
}

RecentStack* StackMemo::stack_here(PyThreadState* thread, CodeRange entry) noexcept {
  if (entry.begin != entry_) {
    entry_ = entry.begin;
    for (RecentStack& stack : stacks_) stack.count_ = 0;
  }
  const void* first = innermost(thread);
  RecentStack& stack = stacks_[mix_bits(reinterpret_cast<std::uintptr_t>(first)) % kStacks];
  return stack.follow(first) || stack.walk(first, entry_) ? &stack : nullptr;
}

Fingerprint StackMemo::key_of_stack(PyThreadState* thread, CodeRange entry) noexcept {
  const RecentStack* stack = stack_here(thread, entry);
  return stack != nullptr ? stack->key() : key_of_deep_stack(thread, entry);
}

const void* current_frame(PyThreadState* thread) noexcept {
  return innermost(thread);
}

const void* const* running_mark(PyThreadState* thread) noexcept {
  return mark_of(thread);
}

std::uintptr_t innermost_ip(PyThreadState* thread, CodeRange entry) noexcept {
  const InterpreterFrame* frame = innermost(thread);
  while (frame != nullptr && is_hidden(frame)) frame = frame->previous;
  return frame == nullptr || entry.contains(ip_of(frame)) ? 0 : ip_of(frame);
}

void list_frames(PyThreadState* thread, CodeRange entry, std::uint16_t source,
                 FrameList& list) noexcept {
  FrameListBuilder builder(list);
  const InterpreterFrame* frame = innermost(thread);
  for (; frame != nullptr && !entry.contains(ip_of(frame)); frame = frame->previous) {
    list.ambiguous = list.ambiguous || shows_by_owner(frame);
    if (is_hidden(frame)) continue;
    if (builder.count() == kMostSeen) break;
    PyCodeObject* code = code_of(frame);
    // Before the first instruction the public API says -1.
    const std::uintptr_t begin = code_begin(code);
    const std::uint32_t offset = ip_of(frame) < begin
                                     ? static_cast<std::uint32_t>(-1)
                                     : static_cast<std::uint32_t>(ip_of(frame) - begin);
    builder.add(
        {.code = reinterpret_cast<std::uintptr_t>(code), .offset = offset, .source = source},
        frame);
  }
  builder.finish();
}

#else  // every stack comes from the public API

const char* frames_unreadable() noexcept {
#if defined(PYPY_VERSION)
  return "frames of PyPy";
#elif defined(Py_GIL_DISABLED)
  return "frames of a build without the interpreter lock";
#elif defined(Py_DEBUG)
  return "frames of a debug build of CPython";
#else
  return "frames of this version of CPython, or its internal headers, are not known";
#endif
}
CodeRange instructions_of(PyCodeObject*) noexcept {
  return {};
}
Fingerprint RecentStack::key() const noexcept {
  return {};
}
RecentStack* StackMemo::stack_here(PyThreadState*, CodeRange) noexcept {
  return nullptr;
}
Fingerprint StackMemo::key_of_stack(PyThreadState*, CodeRange) noexcept {
  return {};
}
const void* current_frame(PyThreadState*) noexcept {
  return nullptr;
}
const void* const* running_mark(PyThreadState*) noexcept {
  return nullptr;
}
void list_frames(PyThreadState*, CodeRange, std::uint16_t, FrameList&) noexcept {}

#endif

}  // namespace strandline::python
