// SPDX-License-Identifier: Apache-2.0
// The id tables of a snapshot on their way into chunks: each entry is written once, in the first
// chunk whose rows name it, so that the chunks up to any one of them can be read without the rest.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "snapshot/native_chunks.h"
#include "snapshot/native_rows.h"

namespace strandline::snapshot::native {

class TableCursor {
 public:
  /// The next `write` brings what this row names.
  template <typename Row>
  void need(const Row& row) {
    visit_fields(row, [&](int, const auto& cell) { note(cell); });
  }
  void note(StringId id) { strings_.raise(id.value); }
  void note(FrameId id) { frames_.raise(id.value); }
  void note(StackId id) { stacks_.raise(id.value); }
  void note(LayoutId id) { layouts_.raise(id.value); }
  void note(StreamId id) { streams_.raise(id.value); }
  void note(PoolId id) { pools_.raise(id.value); }
  template <typename Cell>
  void note(const Cell&) {}

  /// Appends sections with what is needed and has not been written.
  void write(std::string& payload, const Snapshot& tables);

 private:
  /// Entries are numbered from 1; those up to `written` are in the file.
  struct Range {
    std::uint32_t written = 0;
    std::uint32_t needed = 0;
    void raise(std::uint32_t number) { needed = std::max(needed, number); }
    bool empty() const { return needed <= written; }
  };
  void write_strings(std::string& payload, const Snapshot& tables);
  void write_layouts(std::string& payload, const Snapshot& tables);
  static void write_handles(std::string& payload, Table table, Range& range,
                            std::span<const std::pair<std::uint64_t, std::uint64_t>> handles);

  Range strings_, frames_, stacks_, layouts_, streams_, pools_;
};

/// Numbered texts as one section.
void write_texts(std::string& payload, Table table,
                 std::span<const std::pair<std::uint16_t, std::string_view>> texts);

/// Rows of a state into as many chunks as they need; `finish` writes the last.
class StateWriter {
 public:
  StateWriter(ChunkWriter& chunks, TableCursor& cursor, const Snapshot& tables)
      : chunks_(chunks), cursor_(cursor), tables_(tables) {}

  template <typename Row, typename Get>
  void rows(Table table, std::size_t count, Get&& get) {
    RowBuffer<Row> buffer;
    for (std::size_t i = 0; i < count; ++i) {
      const Row row = get(i);
      cursor_.need(row);
      buffer.add(row);
      if (buffer.rows() == kRowsPerChunk) flush(buffer, table);
    }
    flush(buffer, table);
  }
  void texts(std::span<const std::pair<std::uint16_t, std::string_view>> texts) {
    write_texts(pending_, Table::texts, texts);
  }
  void finish() { emit(chunk_flag::kLast); }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

  template <typename Row>
  void flush(RowBuffer<Row>& buffer, Table table) {
    buffer.write(pending_, table);
    if (pending_.size() > kChunkBytes) emit(0);
  }
  void emit(std::uint16_t flags);

  ChunkWriter& chunks_;
  TableCursor& cursor_;
  const Snapshot& tables_;
  std::string pending_;
  bool is_first_ = true;
};

/// The state of a snapshot, and with `file` what a file has beside it; `next_sequence` is the
/// number of the first event that is not part of it.
void write_state(ChunkWriter& chunks, TableCursor& cursor, const Snapshot& snapshot,
                 const SnapshotFile* file, std::uint64_t next_sequence);

}  // namespace strandline::snapshot::native
