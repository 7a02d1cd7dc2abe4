// SPDX-License-Identifier: Apache-2.0
// A snapshot read from a file: the columns, and what a file has beyond them. Every pickle that
// PyTorch or a tool around it has written is read, protocols 0 to 5, plain, gzip or zstd, also
// those before 2023, bare lists of segments, traces without segments and the other way round.
//
//   nothing of a file is run: globals, reduce and persistent ids are refused, with the offset
//   an event's size is the requested size; what its block took is known of blocks alive at the end
//   traces[d] is the range of events of device d; ranges do not overlap
//   segments and blocks are as the file has them, in its order: `check` tells what is broken
//   read in part (ReadRange), a trace is the allocs of what was alive at the start of the range,
//   then the events in it; segments and blocks are those at its end
//
// Plain values. Reading uses one thread and throws FormatError with the offset (in the pickle, not
// in what it was compressed to), DeviceError naming the path where the system refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::uint64_t end() const noexcept { return first + count; }
  bool operator==(const RowRange&) const = default;
};

/// Unix microseconds, or microseconds since the first event of each trace.
struct TimeBound {
  std::int64_t us = 0;
  bool since_start = false;

  bool operator==(const TimeBound&) const = default;
};

/// The part of a file to read, by trace; all of it by default. Events outside take no memory. What
/// is a range of time begins at the first event that is late enough and ends before the first one
/// that is too late.
struct ReadRange {
  std::optional<std::uint64_t> first_event{};
  std::optional<std::uint64_t> end_event{};  ///< one past the last
  std::optional<TimeBound> from{};
  std::optional<TimeBound> until{};  ///< the first moment past the range
  std::optional<std::uint8_t> device{};

  bool is_all() const noexcept { return *this == ReadRange{}; }
  bool operator==(const ReadRange&) const = default;
};

/// What was read of a trace.
struct TracePart {
  std::uint64_t carried = 0;      ///< allocs from before the range, of blocks alive at its start
  std::uint64_t first_event = 0;  ///< number in the file of the first event in the range
  std::uint64_t in_file = 0;      ///< events of the trace in the file

  bool operator==(const TracePart&) const = default;
};

enum class Stage : std::uint8_t { start, end, other };

struct Annotation {
  StringId name{};
  Stage stage = Stage::other;
  std::int32_t device = 0;
  std::int64_t time_us = 0;
};

/// Something an event has and no column holds: a key we do not know, or the name of an action
/// that is not one of ours (its `key` is "action").
struct EventExtra {
  std::uint64_t event = 0;
  StringId key{};
  StringId value{};  ///< text, or JSON of what is no text
};

struct SnapshotFile {
  Snapshot snapshot;
  std::vector<RowRange> traces;           ///< by device
  std::vector<TracePart> parts;           ///< by device; empty where all was read
  std::vector<std::uint8_t> unaddressed;  ///< by segment: a live block has no address
  std::vector<Annotation> annotations;    ///< in the file's order
  std::vector<EventExtra> extras;         ///< by event
  std::vector<std::string> keys;          ///< of the outermost dictionary, sorted
  std::string settings = "{}";            ///< allocator_settings, as JSON
  std::vector<std::pair<StringId, std::uint64_t>> unknown_keys;  ///< and how often, by key
  std::uint64_t skipped_values = 0;                              ///< in lists of another kind

  // Pinned memory of the host (PyTorch 2.14 and newer); ids count in the tables of `snapshot`.
  EventColumns host_events;
  SegmentColumns host_segments;
  BlockColumns host_blocks;

  /// Name of the action of an event, as the file has it.
  std::string_view action_text(std::size_t event) const noexcept;
  /// Number of an event in its trace in the file; none for an alloc carried into the range.
  std::optional<std::uint64_t> event_number(std::size_t event) const noexcept;
};

/// Reads `path`, "-" for standard input.
STRANDLINE_API SnapshotFile read_snapshot(const std::string& path, const ReadRange& range = {});
/// Reads the bytes of a pickle, plain or compressed.
STRANDLINE_API SnapshotFile read_snapshot_bytes(std::string_view bytes,
                                                const ReadRange& range = {});

}  // namespace strandline::snapshot
