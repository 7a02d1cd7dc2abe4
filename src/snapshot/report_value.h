// SPDX-License-Identifier: Apache-2.0
// The JSON of a peak report as a value, for documents that it is a part of.
#pragma once

#include <string>

#include "snapshot/json.h"
#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

Json report_value(const PeakReport& report, const std::string& snapshot_path = {});

}  // namespace strandline::snapshot
