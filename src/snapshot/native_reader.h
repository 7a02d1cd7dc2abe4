// SPDX-License-Identifier: Apache-2.0
// The chunks of a native file put together: tables and events as they come, the latest whole state.
#pragma once

#include <map>

#include "snapshot/native_chunks.h"
#include "snapshot/native_rows.h"
#include "strandline/snapshot/native_file.h"

namespace strandline::snapshot::native {

/// What a state's chunks say; it replaces the state before as a whole.
struct StateParts {
  SegmentColumns segments;
  BlockColumns blocks;
  std::vector<std::uint8_t> unaddressed;
  SegmentColumns host_segments;
  BlockColumns host_blocks;
  std::array<BlockColumns, record::kMeasureCount> peak_set;
  std::vector<PhaseRow> phases;
  std::vector<Annotation> annotations;
  std::vector<RowRange> traces;
  std::vector<std::pair<StringId, std::uint64_t>> unknown_keys;
  std::map<std::uint16_t, std::uint64_t> facts;
  std::string fault;
  std::string settings = "{}";
  std::vector<std::string> keys;
  record::Counters counters;

  std::uint64_t fact(Fact number, std::uint64_t otherwise = 0) const {
    const auto found = facts.find(static_cast<std::uint16_t>(number));
    return found == facts.end() ? otherwise : found->second;
  }
};

/// Events in a row: numbers [first_sequence, first_sequence + count) are rows from `first_row` on.
struct EventRun {
  std::uint64_t first_sequence = 0;
  std::uint64_t count = 0;
  std::uint64_t first_row = 0;
};

/// All there is in a file, before it is made into one snapshot.
struct FileParts {
  NativeFile native;
  StateParts state;                          ///< the latest whole one
  std::vector<EventRun> runs;                ///< in order
  std::map<std::uint32_t, PhaseRow> phases;  ///< by number, as last told
};

FileParts read_parts(std::string_view bytes);

/// Numbers events without gaps, brings the state to the last event, fills `native`.
NativeFile assemble(FileParts&& parts);

}  // namespace strandline::snapshot::native
