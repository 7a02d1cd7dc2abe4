// SPDX-License-Identifier: Apache-2.0
// The peak set by who called whom, outermost frames first.
#pragma once

#include <vector>

#include "snapshot/user_frames.h"
#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

/// Blocks of a gradient stand under the call that asked for it. Blocks without a stack are in no
/// node; those past 256 frames count in the last one. Children are sorted, largest first.
std::vector<CallNode> call_tree(const Snapshot& tables, const BlockColumns& set,
                                UserFrames& frames);

}  // namespace strandline::snapshot
