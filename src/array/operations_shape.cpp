// SPDX-License-Identifier: Apache-2.0
// Operations that change what an array looks like: views wherever the memory allows.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "array/operation_checks.h"
#include "array/primitives.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

}  // namespace

void check_result_rank(const char* function, std::size_t rank) {
  if (rank <= kMaxRank) return;
  throw_bad(function, "axes of the result", std::to_string(rank),
            fmt::format("at most {}", kMaxRank));
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
  return make_node<Transpose>(shape, a.dtype(), node_inputs(a), std::move(axes));
}

Array reshape(const Array& a, const Shape& shape) {
  Shape wanted = shape;
  const auto unknown = std::find(wanted.begin(), wanted.end(), -1);
  if (unknown != wanted.end()) {
    *unknown = 1;
    if (std::find(wanted.begin(), wanted.end(), -1) != wanted.end()) {
      throw_bad("reshape", "shape", shape_text(shape), "at most one extent of -1");
    }
    const std::uint64_t rest = element_count("reshape", wanted);
    if (rest == 0 || a.size() % rest != 0) {
      throw_bad(
          "reshape", "shape", shape_text(shape),
          fmt::format("one for {} elements{}", a.size(), rest == 0 ? ", without 0 beside -1" : ""));
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

Array spread(const char* function, const char* what, const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  element_count(function, shape);
  const std::optional<Shape> common = try_broadcast_shapes(a.shape(), shape);
  if (!common || !(*common == shape)) {
    throw_bad(function, what, "shape " + shape_text(a.shape()),
              fmt::format("one that broadcasts to {}: from the right, extents equal or 1",
                          shape_text(shape)));
  }
  return make_node<Broadcast>(shape, a.dtype(), node_inputs(a));
}

Array broadcast_to(const Array& a, const Shape& shape) {
  return spread("broadcast_to", "array", a, shape);
}

std::vector<Array> broadcast_for(const char* function, const char* what,
                                 const std::vector<Array>& arrays) {
  std::optional<Shape> shape = Shape{};
  for (const Array& one : arrays) {
    shape = try_broadcast_shapes(*shape, one.shape());
    if (shape) continue;
    std::string shapes;
    for (const Array& each : arrays) {
      shapes += (shapes.empty() ? "" : ", ") + shape_text(each.shape());
    }
    throw_bad(function, what, shapes, "ones that broadcast: from the right, extents equal or 1");
  }
  std::vector<Array> result;
  result.reserve(arrays.size());
  for (const Array& one : arrays) result.push_back(broadcast_to(one, *shape));
  return result;
}

std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays) {
  return broadcast_for("broadcast_arrays", "shapes", arrays);
}

Array expand_dims(const Array& a, const std::vector<int>& axes) {
  const std::size_t rank = a.ndim() + axes.size();
  check_result_rank("expand_dims", rank);
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
      throw_bad("squeeze", "axis", fmt::format("{} of shape {}", i, shape_text(a.shape())),
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
  Shape by(rank, 1);  // the step, where there is a second element
  for (std::size_t i = 0; i < rank; ++i) {
    if (step[i] == 0) throw_bad("slice", "step", "0", "a number that is not 0");
    if (step[i] > 0 ? start[i] >= stop[i] : start[i] <= stop[i]) continue;
    const std::int64_t extent = a.shape()[i];
    const bool is_inside =
        step[i] > 0 ? start[i] >= 0 && stop[i] <= extent : start[i] < extent && stop[i] >= -1;
    if (!is_inside) {
      throw_bad("slice", "bounds", fmt::format("{}:{}:{}", start[i], stop[i], step[i]),
                fmt::format("bounds within axis {} of {} elements", i, extent));
    }
    from[i] = start[i];
    // Divided before anything is added: a step may be as large as an int64 is.
    shape[i] = step[i] > 0 ? (stop[i] - start[i] - 1) / step[i] + 1
                           : (stop[i] - start[i] + 1) / step[i] + 1;
    if (shape[i] > 1) by[i] = step[i];
  }
  const bool is_all =
      shape == a.shape() && std::all_of(by.begin(), by.end(), [](auto each) { return each == 1; });
  return is_all ? a : make_node<Slice>(shape, a.dtype(), {a}, from, by);
}

std::vector<Array> split(const Array& a, const std::vector<std::int64_t>& at, int axis) {
  const std::size_t along = normal_axis("split", axis, a.ndim());
  const std::int64_t extent = a.shape()[along];
  std::vector<std::int64_t> starts = {0};
  for (const std::int64_t index : at) {
    starts.push_back(std::clamp(index < 0 ? index + extent : index, std::int64_t{0}, extent));
  }
  const auto end_of = [&](std::size_t i) { return i + 1 < starts.size() ? starts[i + 1] : extent; };
  if (!std::is_sorted(starts.begin(), starts.end())) {
    // Parts that overlap, as in MLX and NumPy, are no parts of one whole: each is a slice.
    std::vector<Array> slices;
    Shape from(a.ndim(), 0);
    Shape to = a.shape();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      from[along] = starts[i];
      to[along] = end_of(i);
      slices.push_back(slice(a, from, to, Shape(a.ndim(), 1)));
    }
    return slices;
  }
  std::vector<std::pair<Shape, Dtype>> parts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Shape shape = a.shape();
    shape[along] = end_of(i) - starts[i];
    parts.emplace_back(shape, a.dtype());
  }
  if (parts.size() == 1) return {a};
  return Array::call(parts, make_node_part<Split>(current_stream(), along, std::move(starts)), {a});
}

std::vector<Array> split(const Array& a, std::int64_t count, int axis) {
  const std::size_t along = normal_axis("split", axis, a.ndim());
  const std::int64_t extent = a.shape()[along];
  if (count < 1 || extent % count != 0) {
    throw_bad("split", "parts", std::to_string(count),
              fmt::format("a number that divides {}, the extent of axis {}", extent, along));
  }
  // An axis without elements, or a repeated one, would be divided by any number.
  constexpr std::int64_t kMostParts = std::int64_t{1} << 20;
  if (count > kMostParts) {
    throw_bad("split", "parts", std::to_string(count), fmt::format("at most {}", kMostParts));
  }
  std::vector<std::int64_t> at;
  for (std::int64_t i = 1; i < count; ++i) at.push_back(extent / count * i);
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

}  // namespace strandline::array
