// SPDX-License-Identifier: Apache-2.0
// Capture sources: who can tell the stack of this thread. The core has none of its own; a language
// binding registers one. They form a list, the first that can gather on this thread wins.
// Capture is noexcept and total: whatever goes wrong, the result is truncated or none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"
#include "strandline/record/traceback.h"

namespace strandline::record {

/// What a traceback is made of.
enum class Stacks : std::uint8_t {
  none,
  python,  ///< frames of the language that called in, none on threads it does not run on
  native,  ///< C++ frames (see native_stack.h); the only kind a C++ program has
  all,     ///< both, in the order of the calls
  site,    ///< the innermost frame of `python` alone
};

/// A stack frame by frame, innermost first.
struct FrameList {
  std::array<RawFrame, kMaxFrames> frames;
  /// Of the frames, as `BindingEntry` notes them; null where the source has none.
  std::array<const void*, kMaxFrames> addresses;
  std::size_t count = 0;
  bool truncated = false;
  /// Another stack may have the same key: then the frames themselves are the identity.
  bool ambiguous = false;

  std::span<const RawFrame> span() const noexcept { return {frames.data(), count}; }
  /// Equal frames, wherever they lie.
  bool operator==(const FrameList& other) const noexcept {
    return truncated == other.truncated && std::ranges::equal(span(), other.span());
  }
};

/// Fills a list from the innermost frame outward, and leaves out the middle of a stack of more than
/// kMaxFrames, see kOuterFrames.
class FrameListBuilder {
 public:
  explicit FrameListBuilder(FrameList& list) noexcept : list_(list) {}

  void add(const RawFrame& frame, const void* address) noexcept {
    if (list_.count < kMaxFrames) {
      list_.addresses[list_.count] = address;
      list_.frames[list_.count++] = frame;
    } else {
      beyond_[beyond_count_++ % kOuterFrames] = {frame, address};
    }
  }
  std::size_t count() const noexcept { return list_.count + beyond_count_; }
  /// After the last frame.
  void finish() noexcept {
    if (beyond_count_ != 0) leave_out_middle();
  }

 private:
  struct Beyond {
    RawFrame frame;
    const void* address;
  };

  STRANDLINE_API void leave_out_middle() noexcept;

  FrameList& list_;
  std::array<Beyond, kOuterFrames> beyond_;  // the last ones, by their number among those beyond
  std::size_t beyond_count_ = 0;
};

/// RawFrame::source of native frames; `code` is the return address.
inline constexpr std::uint16_t kNativeSource = UINT16_MAX;

class STRANDLINE_API CaptureSource {
 public:
  virtual ~CaptureSource() = default;

  /// For messages, e.g. "CPython 3.11 (public API)".
  virtual std::string_view name() const noexcept = 0;
  /// Whether this thread has a stack this source may look at now. Takes no lock.
  virtual bool can_gather() const noexcept = 0;
  /// The stack of this thread, entered into `table`; none where that fails.
  /// `source` is this source's index, to be put into the frames.
  virtual TracebackId gather(TracebackTable& table, std::uint16_t source) noexcept = 0;
  /// The two above in one: false when it cannot gather, else `stack` is what `gather` returns.
  virtual bool try_gather(TracebackTable& table, std::uint16_t source,
                          TracebackId& stack) noexcept {
    if (!can_gather()) return false;
    stack = gather(table, source);
    return true;
  }
  /// The innermost frame alone; false when it cannot tell.
  virtual bool try_gather_site(TracebackTable& /*table*/, std::uint16_t /*source*/,
                               TracebackId& /*site*/) noexcept {
    return false;
  }
  /// Identity of the stack of this thread, equal for equal stacks; false when it cannot gather.
  virtual bool try_key(Fingerprint& /*key*/) noexcept { return false; }
  /// Fills `list` with the stack of this thread, whose frames stay valid from now on.
  virtual bool try_list(std::uint16_t /*source*/, FrameList& /*list*/) noexcept { return false; }
  /// The innermost frame as FrameList::addresses has it; null when it cannot tell.
  virtual const void* current_frame() noexcept { return nullptr; }
  /// File, function and line of a frame gathered by this source; called when a record is read.
  virtual Frame resolve(const RawFrame& frame) const = 0;
};

/// Appends to the list; sources are never removed and live as long as the process.
/// Returns the source's index. Throws OutOfRange when more than 16 register.
STRANDLINE_API std::uint16_t register_capture_source(std::unique_ptr<CaptureSource> source);

/// The stack of this thread by the first source that can gather, none without one.
STRANDLINE_API TracebackId capture_traceback(TracebackTable& table) noexcept;
/// The same, made of what `stacks` says.
STRANDLINE_API TracebackId capture_traceback(TracebackTable& table, Stacks stacks) noexcept;
/// Whether some source could gather on this thread.
STRANDLINE_API bool can_capture() noexcept;
/// A frame by the source that made it; "??" where none can tell.
STRANDLINE_API Frame resolve_frame(const RawFrame& frame);
/// Names of the registered sources, in order, joined by ", "; "none" without one.
STRANDLINE_API std::string capture_sources_text();

/// What one thread has captured.
struct CaptureCounts {
  std::uint16_t thread = 0;      ///< its number in events
  std::uint64_t captures = 0;    ///< tracebacks asked for
  std::uint64_t new_stacks = 0;  ///< of them, stacks not seen before (or not since a clear)
  std::uint64_t failed = 0;      ///< of them, without a result: nothing to gather from, or no room

  bool operator==(const CaptureCounts&) const = default;
};
/// Of every thread that has captured, in the order of their first capture.
STRANDLINE_API std::vector<CaptureCounts> capture_counts();
/// Said by a source when it enters a stack it did not find.
STRANDLINE_API void note_new_stack() noexcept;

}  // namespace strandline::record
