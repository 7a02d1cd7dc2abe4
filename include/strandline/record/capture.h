// SPDX-License-Identifier: Apache-2.0
// Capture sources: who can tell the stack of this thread. The core has none of its own; a language
// binding registers one. They form a list, the first that can gather on this thread wins.
// Capture is noexcept and total: whatever goes wrong, the result is truncated or none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"
#include "strandline/record/traceback.h"

namespace strandline::record {

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
  /// File, function and line of a frame gathered by this source; called when a record is read.
  virtual Frame resolve(const RawFrame& frame) const = 0;
};

/// Appends to the list; sources are never removed and live as long as the process.
/// Returns the source's index. Throws OutOfRange when more than 16 register.
STRANDLINE_API std::uint16_t register_capture_source(std::unique_ptr<CaptureSource> source);

/// The stack of this thread by the first source that can gather, none without one.
STRANDLINE_API TracebackId capture_traceback(TracebackTable& table) noexcept;
/// Whether some source could gather on this thread.
STRANDLINE_API bool can_capture() noexcept;
/// A frame by the source that made it; "??" where none can tell.
STRANDLINE_API Frame resolve_frame(const RawFrame& frame);
/// Names of the registered sources, in order, joined by ", "; "none" without one.
STRANDLINE_API std::string capture_sources_text();

}  // namespace strandline::record
