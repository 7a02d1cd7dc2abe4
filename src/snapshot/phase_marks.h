// SPDX-License-Identifier: Apache-2.0
// Phases as the format tells them: annotations where they start and end, in order of time. An open
// phase has no end.
#pragma once

#include <vector>

#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

std::vector<Annotation> phase_marks(const std::vector<PhaseRow>& phases);

}  // namespace strandline::snapshot
