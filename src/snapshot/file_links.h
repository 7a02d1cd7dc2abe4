// SPDX-License-Identifier: Apache-2.0
// What the parts of a file say of one another: live blocks and the events that began them.
#pragma once

#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Gives each live block the number, time and texts of the alloc that began it, each event the
/// label of a later `annotate`, and the snapshot its times.
void link_blocks(SnapshotFile& file);

/// (device, address) as one non-zero number.
constexpr std::uint64_t place_key(std::uint8_t device, std::uint64_t address) noexcept {
  const std::uint64_t key = address ^ (static_cast<std::uint64_t>(device) << 56);
  return key == 0 ? UINT64_MAX : key;
}

}  // namespace strandline::snapshot
