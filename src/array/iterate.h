// SPDX-License-Identifier: Apache-2.0
// Walking strided operands together, a row at a time. Axes over which all operands run on without
// a jump are merged first, so that contiguous operands are one row, and a row is as long as it can
// be.
//
//   for_each_row<2>(shape, {a.strides, b.strides}, [](const auto& at, const Row<2>& row) {
//     // element i of the row lies at  at[k] + i * row.strides[k]  of operand k, in elements
//   });
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "strandline/array/shape.h"

namespace strandline::array {

template <std::size_t N>
struct Row {
  std::int64_t count = 0;
  std::array<std::int64_t, N> strides{};
};

/// A shape whose axes have been merged, with the strides of each operand.
template <std::size_t N>
struct Merged {
  Shape shape;
  std::array<Strides, N> strides;
};

/// Whether rows come in the order of the shape, or in the one that makes the longest rows.
enum class RowOrder : std::uint8_t { of_shape, any };

template <std::size_t N>
Merged<N> merge_axes(const Shape& shape, const std::array<Strides, N>& strides,
                     RowOrder order = RowOrder::of_shape) {
  std::array<std::size_t, kMaxRank> axes{};
  for (std::size_t i = 0; i < shape.size(); ++i) axes[i] = i;
  if (order == RowOrder::any) {
    // As the last operand, the one that is written, lies in memory.
    std::stable_sort(axes.begin(), axes.begin() + shape.size(), [&](std::size_t a, std::size_t b) {
      return strides[N - 1][a] > strides[N - 1][b];
    });
  }
  Merged<N> merged;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = axes[i];
    if (shape[axis] == 1) continue;
    const std::size_t last = merged.shape.size() - 1;
    bool runs_on = !merged.shape.empty();
    for (std::size_t k = 0; k < N && runs_on; ++k) {
      runs_on = merged.strides[k][last] == strides[k][axis] * shape[axis];
    }
    if (runs_on) {
      merged.shape[last] *= shape[axis];
      for (std::size_t k = 0; k < N; ++k) merged.strides[k][last] = strides[k][axis];
    } else {
      merged.shape.push_back(shape[axis]);
      for (std::size_t k = 0; k < N; ++k) merged.strides[k].push_back(strides[k][axis]);
    }
  }
  if (merged.shape.empty()) {
    merged.shape.push_back(1);
    for (std::size_t k = 0; k < N; ++k) merged.strides[k].push_back(0);
  }
  return merged;
}

/// Calls `visit(at, row)` for each row of merged axes; none of them may be empty.
template <std::size_t N, typename Visit>
void for_each_merged_row(const Merged<N>& merged, Visit&& visit) {
  const std::size_t outer = merged.shape.size() - 1;
  Row<N> row;
  row.count = merged.shape[outer];
  for (std::size_t k = 0; k < N; ++k) row.strides[k] = merged.strides[k][outer];
  std::array<std::int64_t, N> at{};
  Extents index(outer, 0);
  for (;;) {
    visit(at, row);
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      ++index[axis];
      for (std::size_t k = 0; k < N; ++k) at[k] += merged.strides[k][axis];
      if (index[axis] < merged.shape[axis]) break;
      for (std::size_t k = 0; k < N; ++k) at[k] -= merged.strides[k][axis] * merged.shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

/// The same for a shape, which may have no elements.
template <std::size_t N, typename Visit>
void for_each_row(const Shape& shape, const std::array<Strides, N>& strides, Visit&& visit,
                  RowOrder order = RowOrder::of_shape) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  for_each_merged_row<N>(merge_axes<N>(shape, strides, order), visit);
}

}  // namespace strandline::array
