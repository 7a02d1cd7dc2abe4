// SPDX-License-Identifier: Apache-2.0
// The JSON of a peak report as a value, for documents that it is a part of.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

nlohmann::ordered_json report_value(const PeakReport& report,
                                    const std::string& snapshot_path = {});

}  // namespace strandline::snapshot
