// SPDX-License-Identifier: Apache-2.0
// The snapshot: what happened to memory and what it holds, at one moment, as columns.
// It is taken in two steps: the cut copies, under the recorder's locks; then everything the copy
// names (frames, texts, layouts) is resolved outside of every lock, each once and only if used.
//
//   events     what the ring still holds, in order; events[0] has number `first_sequence`
//   segments   complete: providers' segments, and each live whole buffer as a segment of one block
//   blocks     of the segments; live ones with op, layout, label, owner
//   peak_set   the blocks live at each peak as they were then, whatever the ring has lost
//
// A plain value: built by one thread, then read by any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/record/layout.h"
#include "strandline/record/recorder.h"
#include "strandline/snapshot/columns.h"
#include "strandline/snapshot/rows.h"

namespace strandline::snapshot {

/// The op of blocks that were live when recording was switched on.
inline constexpr std::string_view kBeforeRecording = "before recording";

struct PeakFacts {
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;  ///< of the event that reached it; 0 when none did
  std::int64_t time_us = 0;
  std::optional<std::uint64_t> cached{};  ///< bytes kept for reuse then; none when nobody counted

  bool operator==(const PeakFacts&) const = default;
};

/// A named stretch of time; sequence numbers say which events lie in it: [start, end).
struct PhaseRow {
  StringId name{};
  std::uint32_t number = 0;
  std::uint32_t parent = 0;
  std::uint16_t thread = 0;
  bool open = false;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;  ///< of the snapshot while open
  std::uint64_t start_sequence = 0;
  std::uint64_t end_sequence = 0;  ///< UINT64_MAX while open
  std::uint64_t start_active = 0;  ///< bytes of capacity
  std::uint64_t end_active = 0;
  std::uint64_t peak_active = 0;

  bool operator==(const PhaseRow&) const = default;
};

struct STRANDLINE_API Snapshot {
  StringColumn strings;
  FrameColumn frames;
  StackTree stacks;
  std::vector<record::Layout> layouts;                           ///< LayoutId counts from 1
  std::vector<std::pair<std::uint64_t, std::uint64_t>> streams;  ///< (handle, 0)
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pools;

  EventColumns events;
  std::uint64_t first_sequence = 1;
  /// Requested size of the block that the n-th `holder` event is about.
  std::vector<std::uint64_t> holder_requested;

  SegmentColumns segments;
  BlockColumns blocks;
  std::array<BlockColumns, record::kMeasureCount> peak_set;
  std::array<PeakFacts, record::kMeasureCount> peak;
  std::vector<PhaseRow> phases;  ///< in order of start

  record::Counters counters;
  record::RecordOptions options;
  std::int64_t taken_us = 0;
  std::int64_t start_us = 0;  ///< when recording was first switched on
  std::string fault;          ///< why the recorder turned itself off; empty when it did not

  std::string_view text(StringId id) const noexcept { return strings.text(id); }
  /// Empty layout for none.
  const record::Layout& layout(LayoutId id) const noexcept;
  std::pair<std::uint64_t, std::uint64_t> stream(StreamId id) const noexcept;
  std::pair<std::uint64_t, std::uint64_t> pool(PoolId id) const noexcept;
  /// One more than the largest device number in events or segments; at least 1.
  std::size_t device_count() const noexcept;
  /// Equations of segments and blocks that do not hold, one a line; empty when all do.
  std::string validate() const;
};

/// Cuts and resolves. Frames are told by the capture sources, which may run code of the language
/// they belong to. Throws std::bad_alloc, and what a source throws.
STRANDLINE_API Snapshot take_snapshot(record::Recorder& recorder);

/// Resolves a cut by the tables its ids belong to.
STRANDLINE_API Snapshot make_snapshot(record::Cut&& cut, const record::Tables& tables);

}  // namespace strandline::snapshot
