// SPDX-License-Identifier: Apache-2.0
// Why an allocation could not be served: what was asked, what was free where, and which live blocks
// stand in the way. For each out-of-memory event of a trace, or for a size that is asked about.
//
//   merge    in one segment of the request's class: the stretch that is long enough and has the
//            fewest live bytes, fewer than were asked. With them gone it would be one hole that
//            serves the request
//   release  segments with the fewest live bytes, until with what the device has free a new
//            segment fits. With them gone these could be returned to the device
//
// A plain value; making all of them is O(events · log live) for the trace and O(blocks) each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/fragmentation.h"

namespace strandline::snapshot {

/// A stretch of one segment.
struct MergeOption {
  std::uint64_t segment = 0;  ///< its address
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< of the hole it would become
  std::uint64_t live = 0;   ///< bytes of the blocks in it
  std::uint64_t blocks = 0;
  std::vector<Pin> pins{};
};

struct ReleaseOption {
  std::uint64_t segment = 0;
  std::uint64_t bytes = 0;
  Place place{};
  std::uint64_t live = 0;
  std::uint64_t blocks = 0;
  std::uint64_t device_free_then = 0;  ///< with this and all before it returned
  std::vector<Pin> pins{};
};

struct OutOfMemory {
  std::uint8_t device = 0;
  std::int64_t event = -1;  ///< the event of it; where a size was asked about, the one before
  bool is_question = false;
  std::int64_t time_us = 0;
  std::uint64_t asked = 0;                     ///< as the event has it
  std::uint64_t needed = 0;                    ///< rounded: a hole of this size would have done
  std::uint64_t segment_bytes = 0;             ///< what a new segment takes of the device
  std::optional<std::uint64_t> device_free{};  ///< none where nobody told
  Place place{};                               ///< the class that could serve it
  std::optional<Location> line{};
  std::vector<Location> stack{};  ///< innermost first

  StateTotals totals{};
  std::uint64_t requested_live = 0;
  std::uint64_t free_in_class = 0;
  std::uint64_t largest_in_class = 0;
  std::vector<PoolUse> elsewhere{};       ///< other classes that have holes, most free bytes first
  std::uint64_t empty_segments = 0;       ///< bytes of segments without a live block
  std::vector<MergeOption> merges{};      ///< fewest live bytes first; one a segment at most
  std::vector<ReleaseOption> releases{};  ///< fewest live bytes first, until it suffices
  bool release_suffices = false;
  std::vector<Pin> holders{};  ///< all that lives, by line

  bool fits() const noexcept { return largest_in_class >= needed; }
};

/// A size that is asked about: would it have been served at this moment?
struct SizeQuestion {
  std::uint64_t bytes = 0;
  Moment moment{};
  std::uint64_t stream = 0;
};

/// Every out-of-memory event of the device, or of all; with `question` its answer instead.
STRANDLINE_API std::vector<OutOfMemory> explain_out_of_memory(
    const SnapshotFile& file, std::optional<std::uint8_t> device = std::nullopt,
    const std::optional<SizeQuestion>& question = std::nullopt, const AnswerOptions& options = {});

/// By schema/oom.schema.json; at most `top` options of a kind, holders, and pins of an option.
STRANDLINE_API std::string out_of_memory_json(const std::vector<OutOfMemory>& failures,
                                              const std::string& file, std::size_t top);
STRANDLINE_API std::string out_of_memory_text(const std::vector<OutOfMemory>& failures,
                                              const std::string& file, std::size_t top);

}  // namespace strandline::snapshot
