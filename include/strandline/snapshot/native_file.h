// SPDX-License-Identifier: Apache-2.0
// The native file, .slt: what a snapshot is, in columns, in compressed chunks with checksums. Each
// chunk brings what it adds to the tables of strings, frames and stacks, so that every prefix of
// whole chunks opens: a file whose writer was killed ends where its last whole chunk does.
// docs/slt-format.md has every byte of it.
//
// A file is of one of two forms. *Recorded*: events as the recorder writes them, fields by action
// as record::Event has them, with peak sets and counters. *File*: as PyTorch's pickles have them,
// each size what was requested, with annotations, unknown keys and settings; what a pickle becomes.
// `read_snapshot` gives the second for both, so that every question can be asked of every file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

struct NativeOptions {
  int level = 3;  ///< of zstd, 1 (fast) to 19
};

/// Write the file as a whole: it appears under `path` when it is complete. The first in the
/// recorded form, the second in the other. Throw DeviceError naming the path.
STRANDLINE_API void write_native(const Snapshot& snapshot, const std::string& path,
                                 const NativeOptions& options = {});
STRANDLINE_API void write_native(const SnapshotFile& file, const std::string& path,
                                 const NativeOptions& options = {});
/// The same bytes in memory.
STRANDLINE_API std::string native_bytes(const Snapshot& snapshot,
                                        const NativeOptions& options = {});
STRANDLINE_API std::string native_bytes(const SnapshotFile& file,
                                        const NativeOptions& options = {});

/// Whether the bytes begin like a native file.
STRANDLINE_API bool is_native(std::string_view bytes) noexcept;

/// A native file in the form it was written in.
struct NativeFile {
  SnapshotFile file;  ///< of the recorded form `snapshot` alone is filled
  bool is_recorded = false;
  bool is_complete = false;  ///< it was closed: the state at its end is part of it
  std::uint16_t minor_version = 0;
  std::uint64_t chunks = 0;         ///< whole ones
  std::uint64_t whole_bytes = 0;    ///< up to the end of the last whole chunk
  std::uint64_t cut_bytes = 0;      ///< after it, left out
  std::uint64_t missed_events = 0;  ///< numbers between its events that are not there
  std::uint64_t skipped_parts = 0;  ///< tables, columns and chunks of a newer minor version
};

/// Reads it as written. Where it was not closed, the state at its end is what the events make of
/// the state at its start. Throws FormatError with the offset, DeviceError naming the path.
STRANDLINE_API NativeFile read_native(const std::string& path);
STRANDLINE_API NativeFile read_native_bytes(std::string_view bytes);

/// The same as a pickle of it would be read: the recorder's actions become those of PyTorch's
/// format, as write_pickle has them.
STRANDLINE_API SnapshotFile as_snapshot_file(NativeFile&& native);

/// What `as_snapshot_file`, and with it `read_snapshot`, last left out or made up on this thread,
/// for people: one line each, none for a file that is whole. Told once.
STRANDLINE_API std::vector<std::string> take_reading_notes();

}  // namespace strandline::snapshot
