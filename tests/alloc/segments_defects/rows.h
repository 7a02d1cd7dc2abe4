// SPDX-License-Identifier: Apache-2.0
// Every row.
#pragma once

#include "alloc/segments_defects/checklist_rows.h"
#include "alloc/segments_defects/defect_rows.h"

namespace strandline::alloc::defects {

inline std::vector<Row> all_rows() {
  std::vector<Row> rows = checklist_rows();
  for (Row& row : defect_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace strandline::alloc::defects
