// SPDX-License-Identifier: Apache-2.0
// The peak report as JSON by schema/peak_report.schema.json: all that the text says and more, bytes
// exact.
#pragma once

#include <string>

#include "strandline/core/export.h"
#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

/// Raised with every change that a reader has to know of.
inline constexpr int kReportJsonVersion = 1;

/// One document, indented, with a newline at its end. `snapshot_path` is "" when none was written.
STRANDLINE_API std::string report_json(const PeakReport& report,
                                       const std::string& snapshot_path = {});

}  // namespace strandline::snapshot
