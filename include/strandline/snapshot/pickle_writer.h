// SPDX-License-Identifier: Apache-2.0
// The snapshot as the pickled dictionary that PyTorch's memory_viz and the tools around it read.
// What whole-buffer allocators and the recorder write is expanded to the actions of that format:
//
//   alloc_new, alloc_external         segment_alloc, alloc
//   alloc_reuse                       alloc
//   free_to_cache                     free_requested, free_completed
//   free_to_device, release_external  free_requested, free_completed, segment_free
//   cache_to_device                   segment_free
//   holder                            annotate
//   all others                        themselves
//
// Event sizes are requested sizes, block sizes capacities. Protocol 4, only opcodes every reader
// knows; frames, stacks, texts and repeated dictionaries are written once and named again.
#pragma once

#include <string>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Writes to `path`, which is replaced as a whole: on failure nothing is left of the new file.
/// Throws DeviceError naming the path and the system's reason.
STRANDLINE_API void write_pickle(const Snapshot& snapshot, const std::string& path);

/// A file anew, with all it has beyond a snapshot: settings, annotations as they are, other
/// actions, keys of events that have no column (what is no text, list or dictionary as its JSON),
/// pinned memory of the host.
STRANDLINE_API void write_pickle(const SnapshotFile& file, const std::string& path);

/// The same bytes in memory.
STRANDLINE_API std::string pickle_bytes(const Snapshot& snapshot);
STRANDLINE_API std::string pickle_bytes(const SnapshotFile& file);

}  // namespace strandline::snapshot
