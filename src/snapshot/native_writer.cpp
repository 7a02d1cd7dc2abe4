// SPDX-License-Identifier: Apache-2.0
// A whole snapshot as a native file: events in chunks, then the state, then the index.
#include <algorithm>

#include "snapshot/native_tables.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/native_file.h"

namespace strandline::snapshot {
namespace {

using namespace native;

class WholeWriter {
 public:
  WholeWriter(ByteOutput& output, const Snapshot& snapshot, const SnapshotFile* file,
              const NativeOptions& options)
      : chunks_(output, options.level), snapshot_(snapshot), file_(file) {}

  void write() {
    chunks_.write_file_head();
    const EventColumns& events = snapshot_.events;
    for (std::size_t first = 0; first < events.count(); first += kRowsPerChunk) {
      write_events(first, std::min(events.count(), first + kRowsPerChunk));
    }
    if (file_ != nullptr) write_host_events();
    write_state(chunks_, cursor_, snapshot_, file_, snapshot_.first_sequence + events.count());
    chunks_.write_index();
  }

 private:
  void write_events(std::size_t first, std::size_t end) {
    const EventColumns& events = snapshot_.events;
    ChunkFacts facts{.first_sequence = snapshot_.first_sequence + first,
                     .events = static_cast<std::uint32_t>(end - first),
                     .first_us = events.time_us[first],
                     .last_us = events.time_us[end - 1]};
    for (std::size_t i = first; i < end; ++i) {
      const EventRow row = events.row(i);
      cursor_.need(row);
      rows_.add(row);
    }
    std::string rows;
    rows_.write(rows, Table::events);
    add_extras(end, rows);
    emit(rows, facts);
  }

  /// Those of events before `end` that no chunk has yet.
  void add_extras(std::size_t end, std::string& rows) {
    if (file_ == nullptr) return;
    RowBuffer<EventExtra> extras;
    for (; extra_ < file_->extras.size() && file_->extras[extra_].event < end; ++extra_) {
      cursor_.need(file_->extras[extra_]);
      extras.add(file_->extras[extra_]);
    }
    extras.write(rows, Table::extras);
  }

  void write_host_events() {
    const EventColumns& events = file_->host_events;
    for (std::size_t first = 0; first < events.count(); first += kRowsPerChunk) {
      const std::size_t end = std::min(events.count(), first + kRowsPerChunk);
      for (std::size_t i = first; i < end; ++i) {
        const EventRow row = events.row(i);
        cursor_.need(row);
        rows_.add(row);
      }
      std::string rows;
      rows_.write(rows, Table::host_events);
      emit(rows, {});
    }
  }

  void emit(const std::string& rows, const ChunkFacts& facts) {
    std::string payload;
    cursor_.write(payload, snapshot_);
    payload += rows;
    chunks_.write(ChunkKind::rows, 0, payload, facts);
  }

  ChunkWriter chunks_;
  TableCursor cursor_;
  const Snapshot& snapshot_;
  const SnapshotFile* file_;
  RowBuffer<EventRow> rows_;
  std::size_t extra_ = 0;
};

void write_to_path(const Snapshot& snapshot, const SnapshotFile* file, const std::string& path,
                   const NativeOptions& options) {
  FileOutput output(path);
  WholeWriter(output, snapshot, file, options).write();
  output.commit();
}

std::string write_to_bytes(const Snapshot& snapshot, const SnapshotFile* file,
                           const NativeOptions& options) {
  std::string bytes;
  StringOutput output(bytes);
  WholeWriter(output, snapshot, file, options).write();
  return bytes;
}

}  // namespace

void write_native(const Snapshot& snapshot, const std::string& path, const NativeOptions& options) {
  write_to_path(snapshot, nullptr, path, options);
}

void write_native(const SnapshotFile& file, const std::string& path, const NativeOptions& options) {
  write_to_path(file.snapshot, &file, path, options);
}

std::string native_bytes(const Snapshot& snapshot, const NativeOptions& options) {
  return write_to_bytes(snapshot, nullptr, options);
}

std::string native_bytes(const SnapshotFile& file, const NativeOptions& options) {
  return write_to_bytes(file.snapshot, &file, options);
}

}  // namespace strandline::snapshot
