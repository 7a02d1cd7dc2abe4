// SPDX-License-Identifier: Apache-2.0
// What a reader of the report should know of the record behind it: facts with their numbers.
#pragma once

#include <vector>

#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

/// Empty when the record is complete and nothing was odd.
std::vector<Note> notes_of(const Snapshot& snapshot, const RunInfo& run);

}  // namespace strandline::snapshot
