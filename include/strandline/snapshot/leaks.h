// SPDX-License-Identifier: Apache-2.0
// What may leak: allocated in the trace and live at its end, or more at the end of each phase than
// at the end of the one before; by the stack that allocated it, with how long its other blocks
// lived.
//
//   phase    annotations of one name, numbers apart ("step 1", "step 2"): the name that ended most
//            often on the device; nothing grows where fewer than two ended
//   growth   bytes of a stack at the end of the last of them, less those at the end of the first
//
// Plain values; one walk over the events, O(events + stacks · log stacks).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/file_report.h"

namespace strandline::snapshot {

struct Leak {
  std::optional<Location> line;
  std::vector<Location> stack;  ///< innermost first
  Held held;                    ///< requested bytes live at the end
  std::uint64_t allocs = 0;     ///< of this stack in the trace, those freed included
  std::int64_t oldest_us = 0;   ///< time of the first alloc that is still live
  std::int64_t newest_us = 0;
  std::uint64_t freed = 0;            ///< in the trace
  std::int64_t mean_lifetime_us = 0;  ///< of those freed
  std::int64_t longest_lifetime_us = 0;
  std::int64_t growth_bytes = 0;
  std::uint64_t grew_in = 0;  ///< phases, of those after the first
  std::uint64_t fell_in = 0;

  /// More than once, and never less.
  bool is_growing() const noexcept { return grew_in > 1 && fell_in == 0; }
};

struct Leaks {
  std::string phase;         ///< "step #"; empty where none ended twice
  std::uint64_t phases = 0;  ///< of that name that ended
  std::vector<Leak> stacks;  ///< largest first, by what is live or has grown
};

/// Those at the end of a trace are not all leaks: the youngest are being worked with.
STRANDLINE_API Leaks find_leaks(const SnapshotFile& file, std::uint8_t device,
                                const AnswerOptions& options = {});

/// By schema/leaks.schema.json; at most `top` stacks.
STRANDLINE_API std::string leaks_json(const Leaks& leaks, const std::string& file,
                                      std::uint8_t device, std::size_t top);
/// Ages are told back from `end_us`.
STRANDLINE_API std::string leaks_text(const Leaks& leaks, std::int64_t end_us, std::size_t top);

}  // namespace strandline::snapshot
