// SPDX-License-Identifier: Apache-2.0
// Events of a file as a list for people and programs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Rows for which `counts` holds, in their order; all of them where it is empty.
STRANDLINE_API std::vector<std::size_t> matching_events(
    const SnapshotFile& file, std::optional<std::uint8_t> device,
    const std::function<bool(std::size_t)>& counts);

/// By schema/events.schema.json; the first `top` of the rows.
STRANDLINE_API std::string events_json(const SnapshotFile& file,
                                       const std::vector<std::size_t>& rows,
                                       const std::string& path, std::size_t top);
STRANDLINE_API std::string events_text(const SnapshotFile& file,
                                       const std::vector<std::size_t>& rows, std::size_t top);

}  // namespace strandline::snapshot
