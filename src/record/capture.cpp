// SPDX-License-Identifier: Apache-2.0
// The list of capture sources: appended under a lock, read without one.
#include "strandline/record/capture.h"

#include <array>
#include <atomic>

#include "strandline/core/error.h"
#include "strandline/core/mutex.h"

namespace strandline::record {
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

}  // namespace

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
  SourceList& list = g_sources;
  const std::size_t count = list.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    CaptureSource* source = list.sources[i].load(std::memory_order_relaxed);
    TracebackId stack;
    if (source->try_gather(table, static_cast<std::uint16_t>(i), stack)) return stack;
  }
  return {};
}

bool can_capture() noexcept {
  SourceList& list = g_sources;
  const std::size_t count = list.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (list.sources[i].load(std::memory_order_relaxed)->can_gather()) return true;
  }
  return false;
}

Frame resolve_frame(const RawFrame& frame) {
  SourceList& list = g_sources;
  if (frame.source < list.count.load(std::memory_order_acquire)) {
    return list.sources[frame.source].load(std::memory_order_relaxed)->resolve(frame);
  }
  return {.file = "??", .function = "??", .line = 0};
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
