// SPDX-License-Identifier: Apache-2.0
// Operations that move elements to other places: joining, padding, and indexing by arrays.
#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "array/operation_checks.h"
#include "array/primitives.h"
#include "strandline/array/operations.h"
#include "strandline/core/checked.h"

namespace strandline::array {

namespace {

// Of extents that are not negative.
std::int64_t grown(const char* function, std::int64_t extent, std::int64_t by) {
  const auto sum = try_add(static_cast<std::uint64_t>(extent), static_cast<std::uint64_t>(by));
  if (!sum || *sum > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw_bad(function, "extent", fmt::format("{} + {}", extent, by), "less than 2^63");
  }
  return static_cast<std::int64_t>(*sum);
}

}  // namespace

Array concatenate(const std::vector<Array>& arrays, int axis) {
  if (arrays.empty()) throw_bad("concatenate", "arrays", "none", "at least one");
  const std::size_t along = normal_axis("concatenate", axis, arrays[0].ndim());
  Dtype dtype = arrays[0].dtype();
  Shape shape = arrays[0].shape();
  shape[along] = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& one = arrays[i];
    Shape other = one.shape();
    if (other.size() == shape.size()) other[along] = shape[along];
    if (!(other == shape)) {
      throw_bad("concatenate", fmt::format("shape of array {}", i), shape_text(one.shape()),
                fmt::format("that of the first, {}, but for axis {}", shape_text(arrays[0].shape()),
                            along));
    }
    shape[along] = grown("concatenate", shape[along], one.shape()[along]);
    dtype = promote(dtype, one.dtype());
  }
  if (arrays.size() == 1) return arrays[0];
  std::vector<Array> parts;
  parts.reserve(arrays.size());
  for (const Array& one : arrays) parts.push_back(astype(one, dtype));
  return make_node<Concatenate>(shape, dtype, std::move(parts), along);
}

Array stack(const std::vector<Array>& arrays, int axis) {
  if (arrays.empty()) throw_bad("stack", "arrays", "none", "at least one");
  check_result_rank("stack", arrays[0].ndim() + 1);
  const auto along = static_cast<int>(normal_axis("stack", axis, arrays[0].ndim() + 1));
  std::vector<Array> parts;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!(arrays[i].shape() == arrays[0].shape())) {
      throw_bad("stack", fmt::format("shape of array {}", i), shape_text(arrays[i].shape()),
                "that of the first, " + shape_text(arrays[0].shape()));
    }
    parts.push_back(expand_dims(arrays[i], {along}));
  }
  return concatenate(parts, along);
}

Array pad(const Array& a, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
          const Array& value) {
  if (widths.size() != a.ndim()) {
    throw_bad("pad", "widths", fmt::format("{} pairs", widths.size()),
              fmt::format("{}: one for each axis", a.ndim()));
  }
  Shape shape = a.shape();
  Shape start(a.ndim(), 0);
  bool changes = false;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto& [before, after] = widths[i];
    if (before < 0 || after < 0) {
      throw_bad("pad", fmt::format("widths of axis {}", i), fmt::format("({}, {})", before, after),
                "widths of 0 or more");
    }
    changes = changes || before > 0 || after > 0;
    shape[i] = grown("pad", grown("pad", shape[i], before), after);
    start[i] = before;
  }
  if (!changes) return a;
  if (value.size() != 1) {
    throw_bad("pad", "value", fmt::format("{} elements", value.size()), "one element");
  }
  return make_node<Pad>(shape, a.dtype(), {a, reshape(astype(value, a.dtype()), {})}, start,
                        Shape(a.ndim(), 1));
}

namespace {

void check_indices(const char* function, const std::vector<Array>& indices) {
  for (const Array& one : indices) {
    if (!is_floating(one.dtype()) && one.dtype() != Dtype::bool_) continue;
    throw_bad(function, "indices", std::string(dtype_name(one.dtype())), "integers");
  }
}

struct Picked {
  std::vector<std::size_t> axes;
  std::vector<Array> indices;
  Shape shape;
};

Picked pick(const char* function, const Array& a, const std::vector<Array>& indices,
            const std::vector<int>& axes) {
  check_indices(function, indices);
  if (indices.empty() || indices.size() != axes.size()) {
    throw_bad(function, "indices", fmt::format("{} arrays", indices.size()),
              fmt::format("at least one, and one for each of {} axes", axes.size()));
  }
  Picked picked;
  picked.axes = checked_axes(function, axes, a.ndim());
  picked.indices = broadcast_for(function, "shapes of indices", indices);
  picked.shape = picked.indices[0].shape();
  check_result_rank(function, picked.shape.size() + a.ndim() - picked.axes.size());
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    const bool is_picked =
        std::find(picked.axes.begin(), picked.axes.end(), i) != picked.axes.end();
    if (!is_picked) picked.shape.push_back(a.shape()[i]);
  }
  return picked;
}

Array gathered(const char* function, const Array& a, const std::vector<Array>& indices,
               const std::vector<int>& axes) {
  Picked picked = pick(function, a, indices, axes);
  std::vector<Array> inputs = {a};
  inputs.insert(inputs.end(), picked.indices.begin(), picked.indices.end());
  return make_node<Gather>(picked.shape, a.dtype(), std::move(inputs), function,
                           std::move(picked.axes));
}

}  // namespace

Array gather(const Array& a, const std::vector<Array>& indices, const std::vector<int>& axes) {
  return gathered("gather", a, indices, axes);
}

Array scatter_add(const Array& a, const std::vector<Array>& indices, const Array& updates,
                  const std::vector<int>& axes) {
  Picked picked = pick("scatter_add", a, indices, axes);
  std::vector<Array> inputs = {
      a, spread("scatter_add", "updates", astype(updates, a.dtype()), picked.shape)};
  inputs.insert(inputs.end(), picked.indices.begin(), picked.indices.end());
  return make_node<ScatterAdd>(a.shape(), a.dtype(), std::move(inputs), std::move(picked.axes));
}

Array take(const Array& a, const Array& indices, std::optional<int> axis) {
  if (!axis) return take(flatten(a), indices, 0);
  const std::size_t along = normal_axis("take", *axis, a.ndim());
  const Array picked = gathered("take", a, {indices}, {static_cast<int>(along)});
  // The axes of the indices move from the front to where the axis was.
  std::vector<std::size_t> order;
  const std::size_t added = indices.ndim();
  for (std::size_t i = 0; i < along; ++i) order.push_back(added + i);
  for (std::size_t i = 0; i < added; ++i) order.push_back(i);
  for (std::size_t i = along; i + 1 < a.ndim(); ++i) order.push_back(added + i);
  return along == 0 ? picked : transposed(picked, std::move(order));
}

}  // namespace strandline::array
