// SPDX-License-Identifier: Apache-2.0
// A report whose texts may go to a terminal.
#pragma once

#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

/// Every text of it printable.
PeakReport printable_report(PeakReport report);

}  // namespace strandline::snapshot
