// SPDX-License-Identifier: Apache-2.0
// A part of a file that was read as a whole: what reading that part of a pickle gives.
#pragma once

#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

SnapshotFile part_of(SnapshotFile file, const ReadRange& range);

}  // namespace strandline::snapshot
