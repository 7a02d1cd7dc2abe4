// SPDX-License-Identifier: Apache-2.0
// Rows of each table and the numbers of their fields, told once for writing and for reading.
// A number is never used again for something else; docs/slt-format.md lists them, reserved ones
// included. A column that a file lacks reads as 0, that is none.
#pragma once

#include <array>
#include <concepts>
#include <type_traits>

#include "snapshot/native_column.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot::native {

struct FrameRow {
  StringId file{};
  StringId function{};
  std::uint32_t line = 0;
};
struct StackRow {
  FrameId frame{};
  StackId parent{};
};
struct LayoutRow {
  record::Dtype dtype = record::Dtype::unknown;
  std::uint16_t rank = 0;
};
struct DimensionRow {
  std::int64_t size = 0;
};
struct HandleRow {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};
/// A segment without the numbers of its blocks: they follow those of the segment before.
struct StoredSegment {
  SegmentRow row;
  bool unaddressed = false;
};
struct UnknownKeyRow {
  StringId key{};
  std::uint64_t count = 0;
};
struct FactRow {
  std::uint16_t number = 0;
  std::uint64_t value = 0;
};
struct CounterRow {
  record::Action action = record::Action::none;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};
struct IndexRow {
  std::uint64_t offset = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t events = 0;
  std::int64_t first_us = 0;
  std::int64_t last_us = 0;
};

template <typename Row, typename Plain>
concept RowOf = std::same_as<std::remove_const_t<Row>, Plain>;

template <RowOf<EventRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.time_us);
  visit(2, row.address);
  visit(3, row.size);
  visit(4, row.requested);
  visit(5, row.stack);
  visit(6, row.forward);
  visit(7, row.op);
  visit(8, row.label);
  visit(9, row.owner);
  visit(10, row.layout);
  visit(11, row.stream);
  visit(12, row.pool);
  visit(13, row.thread);
  visit(14, row.device);
  visit(15, row.action);
  visit(16, row.context);
}

template <RowOf<BlockRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.address);
  visit(2, row.size);
  visit(3, row.requested);
  visit(4, row.view_bytes);
  visit(5, row.view_offset);
  visit(6, row.alloc_sequence);
  visit(7, row.alloc_time_us);
  visit(8, row.stack);
  visit(9, row.forward);
  visit(10, row.op);
  visit(11, row.label);
  visit(12, row.owner);
  visit(13, row.layout);
  visit(14, row.stream);
  visit(15, row.pool);
  visit(16, row.thread);
  visit(17, row.device);
  visit(18, row.action);
  visit(19, row.use);
  visit(20, row.hidden);
}

template <RowOf<StoredSegment> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.row.address);
  visit(2, row.row.size);
  visit(3, row.row.stack);
  visit(4, row.row.stream);
  visit(5, row.row.pool);
  visit(6, row.row.device);
  visit(7, row.row.is_small);
  visit(8, row.row.is_expandable);
  visit(9, row.row.block_count);
  visit(10, row.unaddressed);
}

template <RowOf<PhaseRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.number);
  visit(2, row.name);
  visit(3, row.parent);
  visit(4, row.thread);
  visit(5, row.open);
  visit(6, row.start_us);
  visit(7, row.end_us);
  visit(8, row.start_sequence);
  visit(9, row.end_sequence);
  visit(10, row.start_active);
  visit(11, row.end_active);
  visit(12, row.peak_active);
}

template <RowOf<FrameRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.file);
  visit(2, row.function);
  visit(3, row.line);
}
template <RowOf<StackRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.frame);
  visit(2, row.parent);
}
template <RowOf<LayoutRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.dtype);
  visit(2, row.rank);
}
template <RowOf<DimensionRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.size);
}
template <RowOf<HandleRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.first);
  visit(2, row.second);
}
template <RowOf<EventExtra> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.event);
  visit(2, row.key);
  visit(3, row.value);
}
template <RowOf<Annotation> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.time_us);
  visit(2, row.name);
  visit(3, row.stage);
  visit(4, row.device);
}
template <RowOf<RowRange> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.first);
  visit(2, row.count);
}
template <RowOf<UnknownKeyRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.key);
  visit(2, row.count);
}
template <RowOf<FactRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.number);
  visit(2, row.value);
}
template <RowOf<CounterRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.action);
  visit(2, row.events);
  visit(3, row.bytes);
}
template <RowOf<IndexRow> Row, typename Visit>
void visit_fields(Row& row, Visit&& visit) {
  visit(1, row.offset);
  visit(2, row.first_sequence);
  visit(3, row.events);
  visit(4, row.first_us);
  visit(5, row.last_us);
}

inline constexpr std::size_t kMaxFields = 32;

template <typename Cell>
std::uint64_t bits_of(const Cell& cell) noexcept {
  if constexpr (std::is_class_v<Cell>) {
    return cell.value;
  } else if constexpr (std::is_signed_v<Cell>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(cell));
  } else {
    return static_cast<std::uint64_t>(cell);
  }
}

/// Rows of one table gathered as columns; `write` appends them as a section and forgets them.
template <typename Row>
class RowBuffer {
 public:
  void add(const Row& row) {
    std::size_t column = 0;
    visit_fields(row, [&](int, const auto& cell) { columns_[column++].push_back(bits_of(cell)); });
    ++rows_;
  }
  std::size_t rows() const noexcept { return rows_; }
  bool empty() const noexcept { return rows_ == 0; }

  void write(std::string& payload, Table table) {
    if (rows_ == 0) return;
    SectionWriter section(payload, table, rows_);
    std::size_t column = 0;
    const Row row{};
    visit_fields(row, [&](int field, const auto&) {
      section.numbers(static_cast<std::uint8_t>(field), columns_[column]);
      columns_[column++].clear();
    });
    section.finish();
    rows_ = 0;
  }

 private:
  std::array<std::vector<std::uint64_t>, kMaxFields> columns_;
  std::size_t rows_ = 0;
};

/// Numbers as a file counts them to ids of the snapshot they were read into.
struct IdMaps {
  std::vector<StringId> strings{StringId{}};
  std::vector<FrameId> frames{FrameId{}};
  std::vector<StackId> stacks{StackId{}};
  std::size_t layouts = 0;
  std::size_t streams = 0;
  std::size_t pools = 0;
};

template <typename Enum>
inline constexpr std::uint64_t kLastOf = 0;
template <>
inline constexpr std::uint64_t kLastOf<record::Action> = record::kActionCount - 1;
template <>
inline constexpr auto kLastOf<record::BlockUse> =
    static_cast<std::uint64_t>(record::BlockUse::inactive);
template <>
inline constexpr auto kLastOf<record::Dtype> =
    static_cast<std::uint64_t>(record::Dtype::complex128);
template <>
inline constexpr auto kLastOf<Stage> = static_cast<std::uint64_t>(Stage::other);

/// Cells of a section's rows, one row at a time.
class CellReader {
 public:
  CellReader(const SectionView& section, const IdMaps& ids);

  template <typename Row>
  Row row(std::size_t i) const {
    Row row{};
    visit_fields(row, [&](int field, auto& cell) {
      const std::vector<std::uint64_t>& column = columns_[static_cast<std::size_t>(field)];
      if (!column.empty() && !read(column[i], cell)) refuse(field, i, column[i]);
    });
    return row;
  }
  std::size_t rows() const noexcept { return rows_; }

 private:
  template <typename Cell>
  bool read(std::uint64_t bits, Cell& cell) const noexcept {
    if constexpr (std::is_same_v<Cell, StringId>) {
      return mapped(ids_.strings, bits, cell);
    } else if constexpr (std::is_same_v<Cell, FrameId>) {
      return mapped(ids_.frames, bits, cell);
    } else if constexpr (std::is_same_v<Cell, StackId>) {
      return mapped(ids_.stacks, bits, cell);
    } else if constexpr (std::is_class_v<Cell>) {
      cell.value = static_cast<std::uint32_t>(bits);
      return bits <= count_of(cell);
    } else if constexpr (std::is_enum_v<Cell>) {
      cell = static_cast<Cell>(bits);
      return bits <= kLastOf<Cell>;
    } else {
      cell = static_cast<Cell>(bits);
      return bits_of(cell) == bits;
    }
  }
  template <typename IdType>
  static bool mapped(const std::vector<IdType>& map, std::uint64_t bits, IdType& id) noexcept {
    if (bits >= map.size()) return false;
    id = map[static_cast<std::size_t>(bits)];
    return true;
  }
  std::size_t count_of(LayoutId) const noexcept { return ids_.layouts; }
  std::size_t count_of(StreamId) const noexcept { return ids_.streams; }
  std::size_t count_of(PoolId) const noexcept { return ids_.pools; }
  [[noreturn]] void refuse(int field, std::size_t row, std::uint64_t bits) const;

  const IdMaps& ids_;
  std::uint8_t table_;
  std::size_t rows_;
  std::array<std::vector<std::uint64_t>, kMaxFields> columns_;
};

}  // namespace strandline::snapshot::native
