// SPDX-License-Identifier: Apache-2.0
// Curves of memory over the events: active (capacity of what is handed out or pending), requested
// (what was asked for), cached (held from the device and not handed out).
// They are walked backwards from the state at the end, so that a ring that has lost its first
// events still gives the right level everywhere.
//
//   level[i] = level after event i - 1; level[0] before the first; level[n] = state at the end
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

struct Curve {
  std::vector<std::int64_t> level;  ///< bytes; one more than there are events

  std::int64_t start() const noexcept { return level.front(); }
  std::int64_t end() const noexcept { return level.back(); }
  /// Index of the first largest level; event `index - 1` reached it, none did for 0.
  std::size_t peak_index() const noexcept;
  std::int64_t peak() const noexcept { return level[peak_index()]; }
};

struct Timeline {
  Curve active;
  Curve requested;
  Curve cached;
};

/// Active bytes at the end: the last level of that curve, without the curve.
STRANDLINE_API std::int64_t active_at_end(const Snapshot& snapshot);
/// Level `index` of the cached curve, without the curve.
STRANDLINE_API std::int64_t cached_level(const Snapshot& snapshot, std::size_t index);

/// The curves of one device, or of all together.
STRANDLINE_API Timeline make_timeline(const Snapshot& snapshot,
                                      std::optional<std::uint8_t> device = std::nullopt);

}  // namespace strandline::snapshot
