// SPDX-License-Identifier: Apache-2.0
// Reading a file that may take long, with word of how far it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Told while a file is read: bytes so far, and of how many; 0 where nobody knows, as of a pipe.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// As `read_snapshot` without `progress`.
STRANDLINE_API SnapshotFile read_snapshot(const std::string& path, const ReadRange& range,
                                          const ReadProgress& progress);

}  // namespace strandline::snapshot
