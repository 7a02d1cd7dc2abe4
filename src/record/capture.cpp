// SPDX-License-Identifier: Apache-2.0
// The list of capture sources: appended under a lock, read without one. Counts are a block a
// thread, written by that thread alone, kept for ever in a list that only grows.
#include "strandline/record/capture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <new>

#include "fork.h"
#include "native_capture.h"
#include "native_walk.h"
#include "strandline/core/error.h"
#include "strandline/core/mutex.h"
#include "strandline/record/binding_call.h"
#include "strandline/record/frame_batch.h"
#include "strandline/record/op_scope.h"

namespace strandline::record {

namespace detail {
STRANDLINE_FAST_TLS constinit thread_local BindingCall t_call{};
}

namespace {

constexpr std::size_t kMaxSources = 16;

struct SourceList {
  Mutex mutex;
  std::array<std::atomic<CaptureSource*>, kMaxSources> sources{};
  std::atomic<std::size_t> count{0};
};

// Constant and trivially destroyed: a capture on any thread, also while the process ends, neither
// makes it nor finds it gone.
constinit SourceList g_sources;

// Relaxed stores and loads: the thread's own, and now and then a reader's.
struct alignas(64) ThreadCounts {
  std::uint16_t thread = 0;
  std::atomic<std::uint64_t> captures{0};
  std::atomic<std::uint64_t> new_stacks{0};
  std::atomic<std::uint64_t> failed{0};
  ThreadCounts* next = nullptr;
};
constinit std::atomic<ThreadCounts*> g_counts{nullptr};
STRANDLINE_FAST_TLS constinit thread_local ThreadCounts* t_counts = nullptr;

void add_one(std::atomic<std::uint64_t>& count) noexcept {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Null without memory for it.
__attribute__((noinline)) ThreadCounts* make_counts() noexcept {
  auto* counts = new (std::nothrow) ThreadCounts;
  if (counts == nullptr) return nullptr;
  counts->thread = thread_number();
  counts->next = g_counts.load(std::memory_order_relaxed);
  while (!g_counts.compare_exchange_weak(counts->next, counts, std::memory_order_release,
                                         std::memory_order_relaxed)) {
  }
  return t_counts = counts;
}

STRANDLINE_ALWAYS_INLINE ThreadCounts* counts_of_thread() noexcept {
  return STRANDLINE_LIKELY(t_counts != nullptr) ? t_counts : make_counts();
}

STRANDLINE_ALWAYS_INLINE TracebackId counted(TracebackId stack) noexcept {
  if (ThreadCounts* counts = counts_of_thread()) {
    add_one(counts->captures);
    if (!stack) add_one(counts->failed);
  }
  return stack;
}

// The first source for which `use(source, index)` is true.
template <typename Use>
bool first_source(Use&& use) noexcept {
  SourceList& list = g_sources;
  const std::size_t count = list.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    CaptureSource* source = list.sources[i].load(std::memory_order_relaxed);
    if (use(*source, static_cast<std::uint16_t>(i))) return true;
  }
  return false;
}

STRANDLINE_ALWAYS_INLINE TracebackId gather_language(TracebackTable& table) noexcept {
  TracebackId stack;
  const std::size_t count = g_sources.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    CaptureSource* source = g_sources.sources[i].load(std::memory_order_relaxed);
    if (source->try_gather(table, static_cast<std::uint16_t>(i), stack)) break;
  }
  return stack;
}

// The second and further times in one call of a binding, the stack is that of the first. One that
// was gathered before the table was cleared reads as none, which is over with the call.
__attribute__((noinline)) TracebackId gather_in_call(TracebackTable& table) noexcept {
  const TracebackId stack = gather_language(table);
  BindingCall& call = binding_call();
  if (call.is_running()) {
    call.stack = stack;
    call.table = &table;
  }
  return counted(stack);
}

TracebackId gather_site(TracebackTable& table) noexcept {
  TracebackId site;
  first_source([&](CaptureSource& source, std::uint16_t index) {
    return source.try_gather_site(table, index, site);
  });
  return site;
}

TracebackId gather_all(TracebackTable& table, const void* frame) noexcept {
  TracebackId stack;
  const bool has_language = first_source([&](CaptureSource& source, std::uint16_t index) {
    LanguagePart language{.source = &source, .index = index};
    if (!source.try_key(language.key)) return false;
    stack = gather_native(table, &language, frame);
    return true;
  });
  return has_language ? stack : gather_native(table, nullptr, frame);
}

__attribute__((noinline)) TracebackId capture_other(TracebackTable& table, Stacks stacks,
                                                    const void* frame) noexcept {
  switch (stacks) {
    case Stacks::none:
      return {};
    case Stacks::python:
      return gather_in_call(table);
    case Stacks::site:
      return counted(gather_site(table));
    case Stacks::native:
      return counted(gather_native(table, nullptr, frame));
    case Stacks::all:
      return counted(gather_all(table, frame));
  }
  return {};
}

}  // namespace

Mutex& source_list_mutex() noexcept {
  return g_sources.mutex;
}

std::uint16_t register_capture_source(std::unique_ptr<CaptureSource> source) {
  if (source == nullptr) {
    throw InvalidArgument(
        error_message("register_capture_source", "capture source", "null", "a source"));
  }
  SourceList& list = g_sources;
  const LockGuard guard(list.mutex);
  const std::size_t index = list.count.load(std::memory_order_relaxed);
  if (index == kMaxSources) {
    throw OutOfRange(
        error_message("register_capture_source", "number of capture sources", "17", "at most 16"));
  }
  list.sources[index].store(source.release(), std::memory_order_relaxed);
  list.count.store(index + 1, std::memory_order_release);
  return static_cast<std::uint16_t>(index);
}

TracebackId capture_traceback(TracebackTable& table) noexcept {
  return counted(gather_language(table));
}

TracebackId capture_traceback(TracebackTable& table, Stacks stacks) noexcept {
  if (stacks != Stacks::python) [[unlikely]] {
    return capture_other(table, stacks, __builtin_frame_address(0));
  }
  const BindingCall& call = binding_call();
  if (call.table != &table || !call.is_running() || !call.stack || t_counts == nullptr) {
    return gather_in_call(table);
  }
  add_one(t_counts->captures);
  return call.stack;
}

const void* language_frame() noexcept {
  const void* frame = nullptr;
  first_source([&](CaptureSource& source, std::uint16_t) {
    frame = source.current_frame();
    return frame != nullptr;
  });
  return frame;
}

bool can_capture() noexcept {
  return first_source([](CaptureSource& source, std::uint16_t) { return source.can_gather(); });
}

void note_new_stack() noexcept {
  if (ThreadCounts* counts = counts_of_thread()) add_one(counts->new_stacks);
}

std::vector<CaptureCounts> capture_counts() {
  std::vector<CaptureCounts> result;
  for (const ThreadCounts* counts = g_counts.load(std::memory_order_acquire); counts != nullptr;
       counts = counts->next) {
    result.push_back({.thread = counts->thread,
                      .captures = counts->captures.load(std::memory_order_relaxed),
                      .new_stacks = counts->new_stacks.load(std::memory_order_relaxed),
                      .failed = counts->failed.load(std::memory_order_relaxed)});
  }
  std::ranges::reverse(result);
  return result;
}

void FrameListBuilder::leave_out_middle() noexcept {
  std::array<Beyond, kOuterFrames> outermost;
  for (std::size_t i = 0; i < kOuterFrames; ++i) {
    const std::size_t number = count() - kOuterFrames + i;
    outermost[i] = number < kMaxFrames ? Beyond{list_.frames[number], list_.addresses[number]}
                                       : beyond_[(number - kMaxFrames) % kOuterFrames];
  }
  list_.count = kInnerFrames;
  list_.truncated = true;
  beyond_count_ = 0;
  add({.code = 0, .offset = 0, .source = kGapSource}, nullptr);
  for (const Beyond& outer : outermost) add(outer.frame, outer.address);
}

Frame resolve_frame(const RawFrame& frame) {
  if (frame.source == kGapSource) return {.file = "<frames left out>", .function = "…", .line = 0};
  if (frame.source == kNativeSource) return resolve_native(frame.code);
  SourceList& list = g_sources;
  if (frame.source < list.count.load(std::memory_order_acquire)) {
    return list.sources[frame.source].load(std::memory_order_relaxed)->resolve(frame);
  }
  return {.file = "??", .function = "??", .line = 0};
}

std::vector<Frame> resolve_frames(std::span<const RawFrame> frames) {
  std::vector<Frame> told(frames.size());
  std::map<std::uint16_t, std::vector<std::size_t>> by_source;
  for (std::size_t i = 0; i < frames.size(); ++i) by_source[frames[i].source].push_back(i);
  const SourceList& list = g_sources;
  const std::size_t count = list.count.load(std::memory_order_acquire);
  for (const auto& [number, places] : by_source) {
    const auto work = [&told, &frames, &places = places] {
      for (const std::size_t i : places) told[i] = resolve_frame(frames[i]);
    };
    const CaptureSource* const source =
        number < count ? list.sources[number].load(std::memory_order_relaxed) : nullptr;
    const auto* const batch = dynamic_cast<const BatchSource*>(source);
    if (batch != nullptr) {
      batch->while_resolving(work);
    } else {
      work();
    }
  }
  return told;
}

std::string capture_sources_text() {
  SourceList& list = g_sources;
  std::string text;
  const std::size_t count = list.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    text += list.sources[i].load(std::memory_order_relaxed)->name();
  }
  return text.empty() ? "none" : text;
}

}  // namespace strandline::record
