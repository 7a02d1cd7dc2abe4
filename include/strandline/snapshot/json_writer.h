// SPDX-License-Identifier: Apache-2.0
// The snapshot as JSON in the shape of PyTorch's pickle, which memory_viz opens too: segments with
// blocks, a trace a device, annotations. JSON cannot name a stack again: every event has its frames
// written out, so files are many times larger than a pickle's. Actions are written by their own
// names; the size of a block's event is what was requested.
#pragma once

#include <string>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Writes to `path`, which is replaced as a whole. Throws DeviceError naming the path.
STRANDLINE_API void write_json(const Snapshot& snapshot, const std::string& path);
/// With all that a file has beyond a snapshot: settings, annotations as they are, keys of events
/// that have no column, pinned host memory.
STRANDLINE_API void write_json(const SnapshotFile& file, const std::string& path);

}  // namespace strandline::snapshot
