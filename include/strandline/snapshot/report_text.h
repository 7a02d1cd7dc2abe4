// SPDX-License-Identifier: Apache-2.0
// The peak report for a terminal. Columns add up as shown: sizes are rounded so that rows and sum
// agree, and what is not shown is a row of its own.
#pragma once

#include <cstdint>
#include <string>

#include "strandline/core/export.h"
#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

struct ReportTextOptions {
  std::size_t top = 10;    ///< lines shown
  std::size_t width = 80;  ///< columns; fewer than 80 are taken for 80
  bool color = false;
  bool call_tree = false;     ///< the tree of user's frames below the lines
  std::string snapshot_path;  ///< "" when none was written
};

STRANDLINE_API std::string report_text(const PeakReport& report,
                                       const ReportTextOptions& options = {});

}  // namespace strandline::snapshot
