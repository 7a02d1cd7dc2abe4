// SPDX-License-Identifier: Apache-2.0
// Blocks summed by the stack that allocated them: what two moments differ in, and what stays.
// Stacks of different files are the same when their frames are: file, function and line.
// Plain values; O(blocks · depth + groups · log groups).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/file_report.h"

namespace strandline::snapshot {

/// What one stack holds in A and in B.
struct StackDifference {
  std::optional<Location> line;  ///< innermost frame of the user's; none without one
  std::vector<Location> stack;   ///< innermost first; empty for blocks without frames
  Held a;
  Held b;

  std::int64_t growth() const noexcept {
    return static_cast<std::int64_t>(b.bytes) - static_cast<std::int64_t>(a.bytes);
  }
};

struct Difference {
  Held a;
  Held b;
  std::vector<StackDifference> stacks;  ///< by growth, largest first; equal ones by stack
};

/// Compares what two files hold, by blocks as `blocks_held` gives them.
STRANDLINE_API Difference make_difference(const SnapshotFile& file_a, const BlockColumns& a,
                                          const SnapshotFile& file_b, const BlockColumns& b,
                                          const std::vector<std::string>& own = {});

/// Allocated in the trace and live at its end, by stack.
struct Leak {
  std::optional<Location> line;
  std::vector<Location> stack;  ///< innermost first
  Held held;                    ///< requested bytes
  std::uint64_t allocs = 0;     ///< of this stack in the trace, those freed included
  std::int64_t oldest_us = 0;   ///< time of the first alloc that is still live
  std::int64_t newest_us = 0;
};

/// Largest first. Those at the end of a trace are not all leaks: the youngest are being worked
/// with.
STRANDLINE_API std::vector<Leak> find_leaks(const SnapshotFile& file, std::uint8_t device,
                                            const AnswerOptions& options = {});

/// What is compared: two files, or two moments of one.
struct DifferenceNames {
  std::string a;
  std::string b;
  std::uint8_t device = 0;
  std::int64_t a_after_event = -1;
  std::int64_t b_after_event = -1;
};

/// By schema/diff.schema.json; at most `top` stacks, those that do not differ last.
STRANDLINE_API std::string difference_json(const Difference& difference,
                                           const DifferenceNames& names, std::size_t top);
STRANDLINE_API std::string difference_text(const Difference& difference,
                                           const DifferenceNames& names, std::size_t top);

/// By schema/leaks.schema.json; at most `top` stacks.
STRANDLINE_API std::string leaks_json(const std::vector<Leak>& leaks, const std::string& file,
                                      std::uint8_t device, std::size_t top);
/// Ages are told back from `end_us`.
STRANDLINE_API std::string leaks_text(const std::vector<Leak>& leaks, std::int64_t end_us,
                                      std::size_t top);

}  // namespace strandline::snapshot
