// SPDX-License-Identifier: Apache-2.0
// Reads _PyInterpreterFrame of CPython 3.11, 3.12 and 3.13 by CPython's internal headers. A module
// is built for one minor version and, within one, the layout does not change; what is checked when
// the module is loaded is in frames_selftest.cpp.

#include "cpython_frames.h"

#include <utility>

#include "cpython_compat.h"

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
using record::kMaxFrames;
using record::RawFrame;

PyThreadState* looking_thread(PyInterpreterState* interpreter) noexcept {
  PyThreadState* thread = current_thread_state();
  const bool may_look = thread != nullptr && thread->interp == interpreter && !finalizing();
  return may_look ? thread : nullptr;
}

void list_frames_by_api(PyThreadState* thread, const PyCodeObject* entry, std::uint16_t source,
                        FrameList& list) noexcept {
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  while (frame != nullptr) {
    // The frame is being executed and keeps its code: the reference can go at once.
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);
    list.truncated = list.count == kMaxFrames && code != entry;
    if (code == entry || list.truncated) break;
    list.addresses[list.count] = nullptr;
    list.frames[list.count++] = {.code = reinterpret_cast<std::uintptr_t>(code),
                                 .offset = static_cast<std::uint32_t>(PyFrame_GetLasti(frame)),
                                 .source = source};
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
}

#if STRANDLINE_READS_FRAMES

namespace {

using InterpreterFrame = _PyInterpreterFrame;

#if PY_VERSION_HEX >= 0x030D0000
const InterpreterFrame* innermost(const PyThreadState* thread) noexcept {
  return thread->current_frame;
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

constexpr std::size_t kUnrolled = 16;
static_assert(kMaxFrames % kUnrolled == 0);

struct KeySums {
  const InterpreterFrame* frame;
  std::uint64_t low;  // which frames are listed depends on the entry: they start from it
  std::uint64_t high;
  std::size_t count = 0;

  // False at the end of the stack.
  __attribute__((always_inline)) bool add(const Multipliers& position) noexcept {
    const std::uintptr_t ip = ip_of(frame);
    low += ip * position.low;
    high += ip * position.high;
    frame = frame->previous;
    ++count;
    return frame != nullptr;
  }
  // One branch a frame, each at an address of its own, so that the end of a stack is predicted.
  template <std::size_t... Index>
  void add_unrolled(std::index_sequence<Index...>) noexcept {
    const Multipliers* positions = &kMultipliers[count];
    (void)(add(positions[Index]) && ...);
  }
};

// More frames than the multipliers reach: which are shown is counted exactly, as `list_frames`
// does.
__attribute__((noinline, cold)) Fingerprint key_of_deep_stack(const InterpreterFrame* frame,
                                                              CodeRange entry) noexcept {
  Fingerprint key{.low = 0xC2B2AE3D27D4EB4FULL, .high = 0x165667B19E3779F9ULL};
  std::size_t shown = 0;
  for (; frame != nullptr && !entry.contains(ip_of(frame)); frame = frame->previous) {
    const bool hidden = is_hidden(frame);
    if (!hidden && shown == kMaxFrames) {
      key.add(shown, 1);
      break;
    }
    key.add(ip_of(frame), 0);
    if (!hidden) ++shown;
  }
  return key;
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

Fingerprint key_of_stack(PyThreadState* thread, CodeRange entry) noexcept {
  KeySums sums{.frame = innermost(thread), .low = entry.begin, .high = entry.begin};
  while (sums.frame != nullptr) {
    if (sums.count == kMaxFrames) return key_of_deep_stack(innermost(thread), entry);
    sums.add_unrolled(std::make_index_sequence<kUnrolled>{});
  }
  // The length, and the high bits, which know most, down to where the table looks.
  Fingerprint key{.low = sums.low ^ (sums.low >> 32), .high = sums.high ^ (sums.high >> 32)};
  key.add(sums.count, 0);
  return key;
}

const void* current_frame(PyThreadState* thread) noexcept {
  return innermost(thread);
}

std::uintptr_t innermost_ip(PyThreadState* thread, CodeRange entry) noexcept {
  const InterpreterFrame* frame = innermost(thread);
  while (frame != nullptr && is_hidden(frame)) frame = frame->previous;
  return frame == nullptr || entry.contains(ip_of(frame)) ? 0 : ip_of(frame);
}

void list_frames(PyThreadState* thread, CodeRange entry, std::uint16_t source,
                 FrameList& list) noexcept {
  const InterpreterFrame* frame = innermost(thread);
  for (; frame != nullptr && !entry.contains(ip_of(frame)); frame = frame->previous) {
    list.ambiguous = list.ambiguous || shows_by_owner(frame);
    if (is_hidden(frame)) continue;
    list.truncated = list.count == kMaxFrames;
    if (list.truncated) break;
    PyCodeObject* code = code_of(frame);
    list.addresses[list.count] = frame;
    // Before the first instruction the public API says -1.
    const std::uintptr_t begin = code_begin(code);
    const std::uint32_t offset = ip_of(frame) < begin
                                     ? static_cast<std::uint32_t>(-1)
                                     : static_cast<std::uint32_t>(ip_of(frame) - begin);
    list.frames[list.count++] = {
        .code = reinterpret_cast<std::uintptr_t>(code), .offset = offset, .source = source};
  }
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
Fingerprint key_of_stack(PyThreadState*, CodeRange) noexcept {
  return {};
}
const void* current_frame(PyThreadState*) noexcept {
  return nullptr;
}
void list_frames(PyThreadState*, CodeRange, std::uint16_t, FrameList&) noexcept {}

#endif

}  // namespace strandline::python
