// SPDX-License-Identifier: Apache-2.0
// Gather and scatter. Each tuple of indices names a part of the indexed operand: rows of the axes
// that are not indexed, the same for all tuples.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/kernels/kernels.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

[[noreturn]] void throw_outside(const Picks& picks, std::size_t which, std::int64_t index,
                                std::size_t number) {
  const std::size_t axis = picks.axes[which];
  const std::int64_t extent = picks.dense.shape[axis];
  Extents position = picks.indices[which].shape;
  for (std::size_t i = position.size(); i-- > 0;) {
    const auto along = static_cast<std::size_t>(position[i]);
    position[i] = static_cast<std::int64_t>(number % along);
    number /= along;
  }
  throw OutOfRange(error_message(
      picks.function, fmt::format("index at {} along axis {}", shape_text(position), axis),
      std::to_string(index),
      extent == 0
          ? std::string("none: the axis has no elements")
          : fmt::format("{} to {}: the axis has {} elements", -extent, extent - 1, extent)));
}

std::vector<std::int64_t> numbers_of(const Operand& indices) {
  std::vector<std::int64_t> numbers(indices.size);
  Operand to = indices;
  to.dtype = Dtype::int64;
  to.at = reinterpret_cast<std::byte*>(numbers.data());
  to.strides = row_major_strides(indices.shape);
  run_copy(indices, to);
  return numbers;
}

// Where the part of each tuple begins, in elements of dense.
std::vector<std::int64_t> beginnings(const Picks& picks) {
  std::vector<std::int64_t> begins(picks.indices[0].size, 0);
  for (std::size_t which = 0; which < picks.indices.size(); ++which) {
    const std::int64_t extent = picks.dense.shape[picks.axes[which]];
    const std::int64_t stride = picks.dense.strides[picks.axes[which]];
    const std::vector<std::int64_t> numbers = numbers_of(picks.indices[which]);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t index = numbers[i];
      if (index < -extent || index >= extent) throw_outside(picks, which, index, i);
      begins[i] += (index < 0 ? index + extent : index) * stride;
    }
  }
  return begins;
}

/// Axes of dense that are not indexed, which are the last of picked; strides of both.
struct Part {
  Shape shape;
  std::array<Strides, 2> strides;

  explicit Part(const Picks& picks) {
    for (std::size_t i = 0; i < picks.dense.shape.size(); ++i) {
      if (std::find(picks.axes.begin(), picks.axes.end(), i) != picks.axes.end()) continue;
      shape.push_back(picks.dense.shape[i]);
      strides[0].push_back(picks.dense.strides[i]);
    }
    strides[1] = Strides(picks.picked.strides.span().last(shape.size()));
  }
  bool is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }
};

/// Calls `move(in dense, in picked, row)` for each row of each part, in the order of the indices:
/// later additions to a place come after earlier ones. `row` has the strides of both.
template <typename Move>
void for_each_picked_row(const Picks& picks, Move&& move) {
  const std::vector<std::int64_t> begins = beginnings(picks);
  const Part part(picks);
  if (part.is_empty()) return;
  const Merged<2> rows = merge_axes<2>(part.shape, part.strides, RowOrder::any);
  const Shape& index_shape = picks.indices[0].shape;
  const Strides outer(picks.picked.strides.span().first(index_shape.size()));
  std::size_t number = 0;
  for_each_row<1>(index_shape, {outer}, [&](const auto& to, const Row<1>& run) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t from = begins[number++];
      for_each_merged_row<2>(rows, [&](const auto& at, const Row<2>& row) {
        move(from + at[0], to[0] + i * run.strides[0] + at[1], row);
      });
    }
  });
}

std::byte* place(const Operand& operand, std::int64_t at) {
  return operand.at + at * static_cast<std::int64_t>(dtype_size_bytes(operand.dtype));
}

Operand row_operand(const Operand& whole, std::int64_t at, std::int64_t count,
                    std::int64_t stride) {
  return {.at = place(whole, at),
          .shape = {count},
          .strides = {stride},
          .size = static_cast<std::uint64_t>(count),
          .data_size = static_cast<std::uint64_t>(count),
          .dtype = whole.dtype};
}

}  // namespace

void run_gather(const Picks& picks) {
  const std::size_t item = dtype_size_bytes(picks.dense.dtype);
  for_each_picked_row(picks, [&](std::int64_t from, std::int64_t to, const Row<2>& row) {
    const auto count = static_cast<std::size_t>(row.count);
    const std::byte* const source = place(picks.dense, from);
    std::byte* const target = place(picks.picked, to);
    if (count == 1 || row.strides[1] == 1) {
      gather(item, source, count == 1 ? 1 : row.strides[0], target, count);
    } else {
      run_copy(row_operand(picks.dense, from, row.count, row.strides[0]),
               row_operand(picks.picked, to, row.count, row.strides[1]));
    }
  });
}

void run_scatter_add(const Picks& picks) {
  const Dtype dtype = picks.dense.dtype;
  const bool is_bool = dtype == Dtype::bool_;
  const Dtype compute = compute_dtype(dtype);
  const bool computes_in_place = dtype_size_bytes(compute) == dtype_size_bytes(dtype);
  const BinaryLoop loop = binary_loop(is_bool ? BinaryOp::logical_or : BinaryOp::add, compute);
  for_each_picked_row(picks, [&](std::int64_t to, std::int64_t from, const Row<2>& row) {
    const bool is_adjacent = row.count == 1 || (row.strides[0] == 1 && row.strides[1] == 1);
    if (is_adjacent && computes_in_place) {
      std::byte* const target = place(picks.dense, to);
      loop(target, place(picks.picked, from), target, static_cast<std::size_t>(row.count));
    } else {
      run_add_to(row_operand(picks.picked, from, row.count, row.strides[1]),
                 row_operand(picks.dense, to, row.count, row.strides[0]));
    }
  });
}

}  // namespace strandline::array
