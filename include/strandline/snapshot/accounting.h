// SPDX-License-Identifier: Apache-2.0
// The books of a snapshot file, device by device: does the trace add up with the blocks at its end?
// Three kinds of bytes that are never mixed: requested (what was asked for: the curve), rounded
// (what live blocks take), reserved (what segments hold of the device).
//
//   active_end   = Σ requested size of live blocks; pending frees are live
//   active_start = active_end − Σ allocs + Σ completed frees      the curve, walked backwards
//   residual     = active_start − bytes of orphan frees − live blocks without an alloc
//   cached       = reserved − Σ size of live blocks
//
// Rules: only `free_completed` (and `free` of old files) ends a block. A free without an alloc is
// of a block from before the trace: an orphan. An alloc at an open address is a double alloc: the
// earlier block counts as lost. An open alloc that is no live block at the end is a lost free.
// Ranges in segments that are gone, maps and unmaps change what is reserved, never the curve.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

enum class Verdict : std::uint8_t {
  complete,       ///< every live block and every free has its alloc in the trace
  starts_midway,  ///< memory from before the first event; it adds up
  state_only,     ///< no alloc in the trace
  inconsistent,   ///< broken segments, a double alloc, a level below zero, or a residual
};
STRANDLINE_API std::string_view verdict_text(Verdict verdict) noexcept;

struct DeviceAccount {
  std::uint8_t device = 0;
  std::uint64_t events = 0;
  std::optional<TracePart> part{};               ///< where some of the trace was not read
  std::map<std::string, std::uint64_t> actions;  ///< by name as in the file
  std::int64_t active_start = 0;
  std::int64_t active_end = 0;
  std::int64_t active_peak = 0;
  std::int64_t active_lowest = 0;
  std::int64_t active_peak_after_event = -1;  ///< index in the device's trace; -1: before the first
  std::uint64_t live_blocks = 0;
  std::int64_t live_rounding_bytes = 0;
  std::optional<std::uint64_t> live_without_alloc_event;  ///< none where blocks have no addresses
  std::uint64_t before_bytes = 0;                         ///< requested, of those
  std::uint64_t orphan_frees = 0;
  std::uint64_t orphan_bytes = 0;
  std::optional<std::uint64_t> lost_frees;
  std::uint64_t double_allocs = 0;
  std::uint64_t broken_segments = 0;
  std::int64_t residual = 0;
  Verdict verdict = Verdict::complete;
  std::uint64_t segments = 0;
  std::uint64_t reserved = 0;
  std::int64_t cached = 0;
  std::uint64_t largest_free_block = 0;
  std::uint64_t max_stack_depth = 0;

  /// What the file has as the number of event `index` of the trace read; -1 and the allocs carried
  /// into a range are the event before it.
  std::int64_t number_in_file(std::int64_t index) const noexcept;
};

struct Account {
  std::vector<std::string> keys;
  std::uint64_t annotations = 0;
  std::uint64_t host_events = 0;
  std::uint64_t host_reserved = 0;
  std::uint64_t skipped_values = 0;
  std::vector<std::pair<std::string, std::uint64_t>> unknown_keys;
  std::vector<DeviceAccount> devices;  ///< those with segments or events

  /// One device is: then the file is.
  bool is_inconsistent() const noexcept;
};

/// O(events); one device only where asked for.
STRANDLINE_API Account make_account(const SnapshotFile& file,
                                    std::optional<std::uint8_t> device = std::nullopt);

/// One document with the fields above, by schema/check.schema.json.
STRANDLINE_API std::string account_json(const Account& account, const std::string& file);
/// For a terminal.
STRANDLINE_API std::string account_text(const Account& account, const std::string& file);

}  // namespace strandline::snapshot
