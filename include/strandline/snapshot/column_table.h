// SPDX-License-Identifier: Apache-2.0
// A snapshot as tables of columns for other programs: NumPy arrays, and through Arrow's C interface
// pyarrow, Polars, DuckDB. A column of the snapshot that is plain numbers of one width is given as
// it lies in memory; the table keeps what it points into alive, whoever holds it.
//
//   events    device, event (number in its trace), action, address, size, requested, time, stream,
//             pool, op, label, owner, line (innermost frame that is the user's), stack
//   blocks    the same of blocks at the end, with their segment and what use they are of
//   segments  device, address, size, kind, expandable, stream, pool, stack
//   frames, stacks   what `stack` names: stack -> (parent, frame), frame -> file, line, function;
//             numbers count from 1, which is the first row; 0 is none
//
// Texts are dictionaries: a column of numbers beside a list of texts. Plain values; a table may be
// used by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

enum class ColumnType : std::uint8_t { u8, u32, u64, i64, time_us };

/// Texts by number; text n is bytes[offsets[n], offsets[n + 1]).
struct TextList {
  std::string bytes;
  std::vector<std::int64_t> offsets{0};

  std::size_t count() const noexcept { return offsets.size() - 1; }
  void add(std::string_view text);
};

struct TableColumn {
  std::string name;
  ColumnType type = ColumnType::u64;
  const void* values = nullptr;  ///< as many as the table has rows
  std::shared_ptr<const void> owner;
  std::shared_ptr<const TextList> texts;  ///< what the values are numbers of; null: of nothing
  bool is_copy = false;                   ///< made for the table
};

struct ColumnTable {
  std::size_t rows = 0;
  std::vector<TableColumn> columns;
};

using SharedFile = std::shared_ptr<const SnapshotFile>;
STRANDLINE_API ColumnTable event_table(const SharedFile& file);
STRANDLINE_API ColumnTable block_table(const SharedFile& file);
STRANDLINE_API ColumnTable segment_table(const SharedFile& file);
STRANDLINE_API ColumnTable frame_table(const SharedFile& file);
STRANDLINE_API ColumnTable stack_table(const SharedFile& file);

}  // namespace strandline::snapshot
