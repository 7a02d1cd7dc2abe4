// SPDX-License-Identifier: Apache-2.0
// What a peak report is made of: blocks that were held, and what is known of that moment, beside
// the tables they point into. A snapshot is its own; of a file each device and moment has another.
#pragma once

#include <vector>

#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

struct PeakInput {
  const Snapshot& tables;
  const BlockColumns& held;
  const std::vector<PhaseRow>& phases;  ///< in order of start
  PeakFacts peak{};
  std::uint64_t requested_peak = 0;
  std::optional<std::uint64_t> cached{};
  std::uint64_t end_active = 0;
  std::int64_t start_us = 0;
  std::uint64_t events = 0;
};

/// Without notes.
PeakReport make_peak_report(const PeakInput& input, const ReportOptions& options);

}  // namespace strandline::snapshot
