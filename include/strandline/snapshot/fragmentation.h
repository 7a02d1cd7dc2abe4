// SPDX-License-Identifier: Apache-2.0
// What is reserved and serves nobody, at a moment of a trace, and what each new segment would have
// found in the cache just before it was obtained.
//
//   reserved = requested + internal + free        of blocks inside of segments
//   internal   what blocks take beyond the request: rounding, and rests too small to split off
//   free       holes; pinned where a live block keeps the segment from being returned
//   class      segments that serve the same requests: stream, pool, small or large
//
// A plain value; making it is O(events · log live).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/answer_options.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/state_replay.h"

namespace strandline::snapshot {

/// A class of segments, resolved.
struct Place {
  std::uint64_t stream = 0;
  std::pair<std::uint64_t, std::uint64_t> pool{0, 0};
  bool is_small = false;

  auto operator<=>(const Place&) const = default;
};
STRANDLINE_API std::string place_text(const Place& place);

/// Live blocks of one line: what keeps a segment.
struct Pin {
  std::optional<Location> line{};
  Held held{};  ///< bytes taken
};

struct SegmentUse {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  Place place{};
  bool is_expandable = false;
  std::uint64_t live = 0;       ///< bytes taken by blocks
  std::uint64_t requested = 0;  ///< by them
  std::uint64_t blocks = 0;
  std::uint64_t free = 0;
  std::uint64_t holes = 0;
  std::uint64_t largest_hole = 0;
  std::vector<Pin> pins{};  ///< largest first

  std::uint64_t internal() const noexcept { return live < requested ? 0 : live - requested; }
  std::uint64_t pinned_free() const noexcept { return blocks == 0 ? 0 : free; }
};

/// All segments of one class.
struct PoolUse {
  Place place{};
  std::uint64_t segments = 0;
  std::uint64_t reserved = 0;
  std::uint64_t live = 0;
  std::uint64_t requested = 0;
  std::uint64_t blocks = 0;
  std::uint64_t free = 0;
  std::uint64_t holes = 0;
  std::uint64_t largest_hole = 0;
  std::uint64_t pinned_free = 0;
};

/// A segment that was obtained, and what was free just before.
struct SegmentRequest {
  std::int64_t event = 0;
  std::int64_t time_us = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t wanted = 0;  ///< rounded request of the alloc it was for; 0: none is seen
  Place place{};
  std::optional<Location> line{};
  std::uint64_t reserved = 0;
  std::uint64_t live = 0;
  std::uint64_t free = 0;
  std::uint64_t largest_hole = 0;
  std::uint64_t free_in_class = 0;
  std::uint64_t largest_in_class = 0;

  /// There was room enough in the class, in pieces.
  bool is_fragmented() const noexcept { return wanted != 0 && free_in_class >= wanted; }
};

struct Fragmentation {
  std::uint8_t device = 0;
  std::int64_t after_event = -1;
  std::int64_t time_us = 0;
  bool is_peak = false;
  StateTotals totals{};
  std::uint64_t pinned_free = 0;
  std::vector<PoolUse> pools{};            ///< by reserved, largest first
  std::vector<SegmentUse> segments{};      ///< most pinned free bytes first
  std::vector<SegmentRequest> requests{};  ///< most free bytes in the class first
  ReplayFacts facts{};
};

/// For each device of the file, or the one asked for, at the moment, which is the peak of requested
/// bytes where none is set. Throws OutOfRange for a moment that is none.
STRANDLINE_API std::vector<Fragmentation> make_fragmentation(
    const SnapshotFile& file, const Moment& moment = {},
    std::optional<std::uint8_t> device = std::nullopt, const AnswerOptions& options = {});

/// By schema/fragmentation.schema.json; at most `top` segments, requests, and pins a segment.
STRANDLINE_API std::string fragmentation_json(const std::vector<Fragmentation>& devices,
                                              const std::string& file, std::size_t top);
STRANDLINE_API std::string fragmentation_text(const std::vector<Fragmentation>& devices,
                                              const std::string& file, std::size_t top);

}  // namespace strandline::snapshot
