// SPDX-License-Identifier: Apache-2.0
// Columns of a section to cells.
#include "snapshot/native_rows.h"

#include <fmt/format.h>

namespace strandline::snapshot::native {

CellReader::CellReader(const SectionView& section, const IdMaps& ids)
    : ids_(ids), table_(section.table), rows_(section.rows) {
  for (const ColumnView& column : section.columns) {
    // A field of a newer minor version: no row of ours has it.
    if (column.field >= kMaxFields || column.coding > Coding::delta) continue;
    decode(column, section.rows, columns_[column.field]);
  }
}

void CellReader::refuse(int field, std::size_t row, std::uint64_t bits) const {
  throw PayloadError{fmt::format("table {}, field {}, row {}", table_, field, row),
                     fmt::format("{}", bits), "a value that the field can have"};
}

}  // namespace strandline::snapshot::native
