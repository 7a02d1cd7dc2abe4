// SPDX-License-Identifier: Apache-2.0
// Blocks summed by the stack that allocated them: what two moments differ in.
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

}  // namespace strandline::snapshot
