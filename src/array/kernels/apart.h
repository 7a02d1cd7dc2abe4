// SPDX-License-Identifier: Apache-2.0
// The axes of a reduction, told apart.
#pragma once

#include <array>
#include <cstdint>

#include "array/axis_set.h"
#include "array/iterate.h"
#include "strandline/array/primitive.h"

namespace strandline::array {

/// The axes of a reduction, apart: those that stay, with the strides of `in` and `out`, and those
/// that are folded, with the strides of `out` and `in`: walked as `in` lies in memory.
struct Apart {
  Merged<2> kept;
  Merged<2> folded;
};

/// `out` has the axes that stay, and either all of the others or none.
inline Apart split_axes(const Operand& in, AxisSet axes, const Operand& out) {
  const bool has_all = out.shape.size() == in.shape.size();
  Shape kept_shape;
  Shape folded_shape;
  std::array<Strides, 2> kept;
  std::array<Strides, 2> folded;
  std::size_t out_axis = 0;
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    const bool is_folded = axes.contains(i);
    const std::int64_t to = is_folded && !has_all ? 0 : out.strides[out_axis++];
    (is_folded ? folded_shape : kept_shape).push_back(in.shape[i]);
    (is_folded ? folded[1] : kept[0]).push_back(in.strides[i]);
    (is_folded ? folded[0] : kept[1]).push_back(to);
  }
  return {.kept = merge_axes<2>(kept_shape, kept),
          .folded = merge_axes<2>(folded_shape, folded, RowOrder::any)};
}

}  // namespace strandline::array
