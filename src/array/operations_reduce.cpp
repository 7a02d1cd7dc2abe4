// SPDX-License-Identifier: Apache-2.0
// Products and reductions as nodes.
#include <algorithm>

#include <fmt/format.h>

#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "strandline/array/operations.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

AxisSet folded_axes(const char* function, const Array& a, const Axes& axes) {
  if (!axes) return AxisSet::all(a.ndim());
  AxisSet folded;
  for (const int axis : *axes) {
    const std::size_t normal = normal_axis(function, axis, a.ndim());
    if (folded.contains(normal)) {
      throw InvalidArgument(
          error_message(function, "axes", fmt::format("axis {} twice", normal), "each axis once"));
    }
    folded.insert(normal);
  }
  return folded;
}

// With the folded axes as extents of 1.
Array with_axes(const Array& reduced, const Shape& shape, AxisSet folded, KeepDims keep) {
  if (keep == KeepDims::no) return reduced;
  Shape kept = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (folded.contains(i)) kept[i] = 1;
  }
  return reshape(reduced, kept);
}

enum class NeedsElements : bool { no, yes };

// Of the axes that stay.
Shape folded_shape(const char* function, const Array& a, AxisSet folded, NeedsElements needs) {
  Shape shape;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    const bool is_folded = folded.contains(i);
    if (!is_folded) shape.push_back(a.shape()[i]);
    if (is_folded && needs == NeedsElements::yes && a.shape()[i] == 0) {
      throw InvalidArgument(error_message(function, "array", "shape " + shape_text(a.shape()),
                                          fmt::format("elements along axis {}", i)));
    }
  }
  return shape;
}

Array reduce(const char* function, ReduceOp op, const Array& a, const Axes& axes, KeepDims keep) {
  const AxisSet folded = folded_axes(function, a, axes);
  const bool is_extreme = op == ReduceOp::maximum || op == ReduceOp::minimum;
  const Shape shape =
      folded_shape(function, a, folded, is_extreme ? NeedsElements::yes : NeedsElements::no);
  if (folded.empty()) return a;
  return with_axes(make_node<Reduce>(shape, a.dtype(), node_inputs(a), op, folded), a.shape(),
                   folded, keep);
}

// What sums of small integers are counted in.
Dtype counting_dtype(Dtype dtype) noexcept {
  if (dtype == Dtype::bool_) return Dtype::int32;
  return dtype == Dtype::uint8 ? Dtype::uint32 : dtype;
}

Array arg_reduce(const char* function, ReduceOp op, const Array& a, std::optional<int> axis,
                 KeepDims keep) {
  const Array line = axis ? a : flatten(a);
  const std::size_t along = axis ? normal_axis(function, *axis, a.ndim()) : 0;
  if (line.shape()[along] == 0) {
    throw InvalidArgument(error_message(function, "array", "shape " + shape_text(a.shape()),
                                        fmt::format("elements along axis {}", along)));
  }
  Shape shape = line.shape();
  shape.erase(along);
  Array best = make_node<ArgReduce>(shape, Dtype::uint32, {line}, op, along);
  if (keep == KeepDims::no) return best;
  return axis ? expand_dims(best, {static_cast<int>(along)}) : reshape(best, Shape(a.ndim(), 1));
}

std::uint64_t folded_count(const Array& a, AxisSet folded) {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    if (folded.contains(i)) count *= static_cast<std::uint64_t>(a.shape()[i]);
  }
  return count;
}

[[noreturn]] void throw_matmul(const Array& a, const Array& b, const std::string& expected) {
  throw InvalidArgument(error_message(
      "matmul", "shapes", fmt::format("{} and {}", shape_text(a.shape()), shape_text(b.shape())),
      expected));
}

// All axes but those of the matrices.
Shape batch_of(const Array& matrices) {
  return Shape(matrices.shape().span().first(matrices.ndim() - 2));
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Array with_batch(const Array& matrices, const Shape& batch) {
  if (matrices.ndim() == 2 && batch.empty()) return matrices;
  return broadcast_to(matrices, with_matrix(batch, matrices.shape(-2), matrices.shape(-1)));
}

}  // namespace

Array matmul(const Array& a, const Array& b) {
  if (a.ndim() == 0 || b.ndim() == 0) throw_matmul(a, b, "at least one axis each");
  Dtype dtype = promote(a.dtype(), b.dtype());
  if (dtype == Dtype::bool_) dtype = Dtype::int32;
  Array left = astype(a, dtype);
  Array right = astype(b, dtype);
  if (a.ndim() == 1) left = expand_dims(left, {0});
  if (b.ndim() == 1) right = expand_dims(right, {1});
  if (left.shape(-1) != right.shape(-2)) {
    throw_matmul(a, b,
                 fmt::format("as many columns on the left ({}) as rows on the right ({})",
                             left.shape(-1), right.shape(-2)));
  }
  const std::optional<Shape> batch = try_broadcast_shapes(batch_of(left), batch_of(right));
  if (!batch) throw_matmul(a, b, "axes before the last two that broadcast: equal or 1");
  const Array product =
      make_node<Matmul>(with_matrix(*batch, left.shape(-2), right.shape(-1)), dtype,
                        node_inputs(with_batch(left, *batch), with_batch(right, *batch)));
  if (a.ndim() == 1 && b.ndim() == 1) return squeeze(product, Axes{{-2, -1}});
  if (a.ndim() == 1) return squeeze(product, Axes{{-2}});
  return b.ndim() == 1 ? squeeze(product, Axes{{-1}}) : product;
}

std::string matmul_library() {
  return matmul_backend();
}

Array sum(const Array& a, const Axes& axes, KeepDims keep) {
  return reduce("sum", ReduceOp::sum, astype(a, counting_dtype(a.dtype())), axes, keep);
}

Array prod(const Array& a, const Axes& axes, KeepDims keep) {
  return reduce("prod", ReduceOp::product, astype(a, counting_dtype(a.dtype())), axes, keep);
}

Array mean(const Array& a, const Axes& axes, KeepDims keep) {
  const Array real = astype(a, at_least_float(a.dtype()));
  const auto count = static_cast<double>(folded_count(a, folded_axes("mean", a, axes)));
  return multiply(sum(real, axes, keep), scalar(1.0 / count, real.dtype()));
}

Array var(const Array& a, const Axes& axes, KeepDims keep, int ddof) {
  const Array real = astype(a, at_least_float(a.dtype()));
  const auto count = static_cast<double>(folded_count(a, folded_axes("var", a, axes)));
  const Array off = square(subtract(real, mean(real, axes, KeepDims::yes)));
  // Of too few elements it is infinite, or NaN, as in NumPy; never negative.
  return multiply(sum(off, axes, keep), scalar(1.0 / std::max(count - ddof, 0.0), real.dtype()));
}

Array max(const Array& a, const Axes& axes, KeepDims keep) {
  return reduce("max", ReduceOp::maximum, a, axes, keep);
}
Array min(const Array& a, const Axes& axes, KeepDims keep) {
  return reduce("min", ReduceOp::minimum, a, axes, keep);
}
Array argmax(const Array& a, std::optional<int> axis, KeepDims keep) {
  return arg_reduce("argmax", ReduceOp::maximum, a, axis, keep);
}
Array argmin(const Array& a, std::optional<int> axis, KeepDims keep) {
  return arg_reduce("argmin", ReduceOp::minimum, a, axis, keep);
}

Array logsumexp(const Array& a, const Axes& axes, KeepDims keep) {
  Array real = astype(a, at_least_float(a.dtype()));
  const AxisSet folded = folded_axes("logsumexp", real, axes);
  if (folded.empty()) return real;
  const Shape shape = folded_shape("logsumexp", real, folded, NeedsElements::yes);
  return with_axes(make_node<LogSumExp>(shape, real.dtype(), node_inputs(real), folded),
                   real.shape(), folded, keep);
}

Array softmax(const Array& a, const Axes& axes) {
  const Array real = astype(a, at_least_float(a.dtype()));
  const AxisSet folded = folded_axes("softmax", real, axes);
  if (folded.empty()) return ones_like(real);
  return make_node<Softmax>(real.shape(), real.dtype(), node_inputs(real), folded);
}

}  // namespace strandline::array
