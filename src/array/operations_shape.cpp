// SPDX-License-Identifier: Apache-2.0
// Operations that change shapes, and those that move elements.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "array/primitives.h"
#include "strandline/array/operations.h"
#include "strandline/core/checked.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

[[noreturn]] void throw_bad(const char* function, const char* what, const std::string& got,
                            const std::string& expected) {
  throw InvalidArgument(error_message(function, what, got, expected));
}

std::vector<std::size_t> checked_axes(const char* function, const std::vector<int>& axes,
                                      std::size_t rank) {
  std::vector<std::size_t> result;
  for (const int axis : axes) {
    const std::size_t normal = normal_axis(function, axis, rank);
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      throw_bad(function, "axes", fmt::format("axis {} twice", axis), "each axis once");
    }
    result.push_back(normal);
  }
  return result;
}

Array transposed(const Array& a, std::vector<std::size_t> axes) {
  Shape shape;
  for (const std::size_t axis : axes) shape.push_back(a.shape()[axis]);
  return make_node<Transpose>(shape, a.dtype(), {a}, std::move(axes));
}

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

void check_indices(const char* function, const std::vector<Array>& indices) {
  for (const Array& one : indices) {
    if (!is_floating(one.dtype()) && one.dtype() != Dtype::bool_) continue;
    throw_bad(function, "indices", std::string(dtype_name(one.dtype())), "integers");
  }
}

}  // namespace

Array reshape(const Array& a, const Shape& shape) {
  Shape wanted = shape;
  const auto unknown = std::find(wanted.begin(), wanted.end(), -1);
  if (unknown != wanted.end()) {
    *unknown = 1;
    const std::uint64_t rest = element_count("reshape", wanted);
    if (rest == 0 || a.size() % rest != 0) {
      throw_bad("reshape", "shape", shape_text(shape),
                fmt::format("one for {} elements", a.size()));
    }
    *unknown = static_cast<std::int64_t>(a.size() / rest);
  }
  if (wanted == a.shape()) return a;
  if (element_count("reshape", wanted) != a.size()) {
    throw_bad("reshape", "shape", shape_text(shape), fmt::format("one for {} elements", a.size()));
  }
  return make_node<Reshape>(wanted, a.dtype(), {a});
}

Array transpose(const Array& a, const std::optional<std::vector<int>>& axes) {
  std::vector<std::size_t> order = all_axes(a.ndim());
  if (axes) {
    order = checked_axes("transpose", *axes, a.ndim());
    if (order.size() != a.ndim()) {
      throw_bad("transpose", "axes", fmt::format("{} of them", order.size()),
                fmt::format("{}: one for each axis", a.ndim()));
    }
  } else {
    std::reverse(order.begin(), order.end());
  }
  return transposed(a, std::move(order));
}

Array swapaxes(const Array& a, int first, int second) {
  std::vector<std::size_t> order = all_axes(a.ndim());
  std::swap(order[normal_axis("swapaxes", first, a.ndim())],
            order[normal_axis("swapaxes", second, a.ndim())]);
  return transposed(a, std::move(order));
}

Array moveaxis(const Array& a, int from, int to) {
  const std::size_t source = normal_axis("moveaxis", from, a.ndim());
  const std::size_t target = normal_axis("moveaxis", to, a.ndim());
  if (source == target) return a;
  std::vector<std::size_t> order = all_axes(a.ndim());
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(source));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(target), source);
  return transposed(a, std::move(order));
}

Array broadcast_to(const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  element_count("broadcast_to", shape);
  if (!(broadcast_shapes("broadcast_to", a.shape(), shape) == shape)) {
    throw_bad("broadcast_to", "shape", shape_text(shape),
              "one that an array of shape " + shape_text(a.shape()) + " can be spread over");
  }
  return make_node<Broadcast>(shape, a.dtype(), node_inputs(a));
}

std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays) {
  Shape shape;
  for (const Array& one : arrays) shape = broadcast_shapes("broadcast_arrays", shape, one.shape());
  std::vector<Array> result;
  result.reserve(arrays.size());
  for (const Array& one : arrays) result.push_back(broadcast_to(one, shape));
  return result;
}

Array expand_dims(const Array& a, const std::vector<int>& axes) {
  const std::size_t rank = a.ndim() + axes.size();
  std::vector<std::size_t> added = checked_axes("expand_dims", axes, rank);
  std::sort(added.begin(), added.end());
  Shape shape = a.shape();
  for (const std::size_t axis : added) shape.insert(axis, 1);
  return reshape(a, shape);
}

Array squeeze(const Array& a, const Axes& axes) {
  std::vector<std::size_t> gone;
  if (axes) {
    gone = checked_axes("squeeze", *axes, a.ndim());
  } else {
    for (std::size_t i = 0; i < a.ndim(); ++i) {
      if (a.shape()[i] == 1) gone.push_back(i);
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    const bool goes = std::find(gone.begin(), gone.end(), i) != gone.end();
    if (goes && a.shape()[i] != 1) {
      throw_bad("squeeze", "axis", fmt::format("{} of extent {}", i, a.shape()[i]),
                "an axis of extent 1");
    }
    if (!goes) shape.push_back(a.shape()[i]);
  }
  return reshape(a, shape);
}

Array flatten(const Array& a) {
  return reshape(a, {static_cast<std::int64_t>(a.size())});
}

Array slice(const Array& a, const Shape& start, const Shape& stop, const Shape& step) {
  const std::size_t rank = a.ndim();
  if (start.size() != rank || stop.size() != rank || step.size() != rank) {
    throw_bad("slice", "bounds",
              fmt::format("{}, {} and {}", start.size(), stop.size(), step.size()),
              fmt::format("{} each: one for each axis", rank));
  }
  Shape shape(rank, 0);
  Shape from(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    if (step[i] == 0) throw_bad("slice", "step", "0", "a number that is not 0");
    const std::int64_t span = step[i] > 0 ? stop[i] - start[i] : start[i] - stop[i];
    const std::int64_t stride = step[i] > 0 ? step[i] : -step[i];
    shape[i] = span <= 0 ? 0 : (span + stride - 1) / stride;
    from[i] = shape[i] == 0 ? 0 : start[i];
    const std::int64_t last = from[i] + (shape[i] - 1) * step[i];
    if (shape[i] > 0 && (std::min(from[i], last) < 0 || std::max(from[i], last) >= a.shape()[i])) {
      throw_bad("slice", "bounds", fmt::format("{}:{}:{}", start[i], stop[i], step[i]),
                fmt::format("bounds within an axis of {}", a.shape()[i]));
    }
  }
  const bool is_all = shape == a.shape() &&
                      std::all_of(step.begin(), step.end(), [](auto each) { return each == 1; });
  return is_all ? a : make_node<Slice>(shape, a.dtype(), {a}, from, step);
}

std::vector<Array> split(const Array& a, const std::vector<std::int64_t>& at, int axis) {
  const std::size_t along = normal_axis("split", axis, a.ndim());
  const std::int64_t extent = a.shape()[along];
  std::vector<std::int64_t> starts = {0};
  for (const std::int64_t index : at) {
    const std::int64_t end =
        std::clamp(index < 0 ? index + extent : index, std::int64_t{0}, extent);
    starts.push_back(std::max(end, starts.back()));
  }
  std::vector<std::pair<Shape, Dtype>> parts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Shape shape = a.shape();
    shape[along] = (i + 1 < starts.size() ? starts[i + 1] : extent) - starts[i];
    parts.emplace_back(shape, a.dtype());
  }
  if (parts.size() == 1) return {a};
  return Array::call(parts, make_node_part<Split>(current_stream(), along, std::move(starts)), {a});
}

std::vector<Array> split(const Array& a, int count, int axis) {
  const std::int64_t extent = a.shape()[normal_axis("split", axis, a.ndim())];
  if (count < 1 || extent % count != 0) {
    throw_bad("split", "parts", std::to_string(count),
              fmt::format("a number that divides {}", extent));
  }
  std::vector<std::int64_t> at;
  for (int i = 1; i < count; ++i) at.push_back(extent / count * i);
  return split(a, at, axis);
}

Array stop_gradient(const Array& a) {
  return make_node<View>(a.shape(), a.dtype(), {a}, ViewKind::stop_gradient);
}
Array copy(const Array& a) {
  return make_node<View>(a.shape(), a.dtype(), {a}, ViewKind::copy);
}
Array contiguous(const Array& a) {
  return make_node<View>(a.shape(), a.dtype(), {a}, ViewKind::contiguous);
}

// -- moving elements ------------------------------------------------------------------------------

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
  for (const Array& one : arrays) {
    Shape other = one.shape();
    if (other.size() == shape.size()) other[along] = shape[along];
    if (!(other == shape)) {
      throw_bad("concatenate", "shape", shape_text(one.shape()),
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
  std::vector<Array> parts;
  for (const Array& one : arrays) {
    if (!(one.shape() == arrays[0].shape())) {
      throw_bad("stack", "shape", shape_text(one.shape()),
                "that of the first, " + shape_text(arrays[0].shape()));
    }
    parts.push_back(expand_dims(one, {axis}));
  }
  return concatenate(parts, axis);
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
      throw_bad("pad", "widths", fmt::format("({}, {})", before, after), "widths of 0 or more");
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
  picked.indices = broadcast_arrays(indices);
  picked.shape = picked.indices[0].shape();
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    const bool is_picked =
        std::find(picked.axes.begin(), picked.axes.end(), i) != picked.axes.end();
    if (!is_picked) picked.shape.push_back(a.shape()[i]);
  }
  return picked;
}

}  // namespace

Array gather(const Array& a, const std::vector<Array>& indices, const std::vector<int>& axes) {
  Picked picked = pick("gather", a, indices, axes);
  std::vector<Array> inputs = {a};
  inputs.insert(inputs.end(), picked.indices.begin(), picked.indices.end());
  return make_node<Gather>(picked.shape, a.dtype(), std::move(inputs), std::move(picked.axes));
}

Array scatter_add(const Array& a, const std::vector<Array>& indices, const Array& updates,
                  const std::vector<int>& axes) {
  Picked picked = pick("scatter_add", a, indices, axes);
  std::vector<Array> inputs = {a, broadcast_to(astype(updates, a.dtype()), picked.shape)};
  inputs.insert(inputs.end(), picked.indices.begin(), picked.indices.end());
  return make_node<ScatterAdd>(a.shape(), a.dtype(), std::move(inputs), std::move(picked.axes));
}

Array take(const Array& a, const Array& indices, std::optional<int> axis) {
  if (!axis) return take(flatten(a), indices, 0);
  const std::size_t along = normal_axis("take", *axis, a.ndim());
  const Array picked = gather(a, {indices}, {static_cast<int>(along)});
  // The axes of the indices move from the front to where the axis was.
  std::vector<std::size_t> order;
  const std::size_t added = indices.ndim();
  for (std::size_t i = 0; i < along; ++i) order.push_back(added + i);
  for (std::size_t i = 0; i < added; ++i) order.push_back(i);
  for (std::size_t i = along; i + 1 < a.ndim(); ++i) order.push_back(added + i);
  return along == 0 ? picked : transposed(picked, std::move(order));
}

}  // namespace strandline::array
