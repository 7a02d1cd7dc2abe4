// SPDX-License-Identifier: Apache-2.0
// Gradients of products and reductions.
#include <algorithm>

#include "array/operation_checks.h"
#include "array/primitives.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

// With the folded axes as extents of 1, so that it broadcasts against what was folded.
Array unfolded(const Array& reduced, const Shape& shape, AxisSet axes) {
  Shape kept = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (axes.contains(i)) kept[i] = 1;
  }
  return reshape(reduced, kept);
}

// Lines moved on by `distance` along the last axis, which ones come in from.
Array moved_on(const Array& lines, std::int64_t distance) {
  const std::int64_t length = lines.shape(-1);
  const Array kept = slice(lines, {0, 0}, {lines.shape(0), length - distance}, {1, 1});
  return pad(kept, {{0, 0}, {distance, 0}}, scalar(1, lines.dtype()));
}

Array backwards(const Array& lines) {
  return slice(lines, {0, lines.shape(-1) - 1}, {lines.shape(0), -1}, {1, -1});
}

// Of all elements before each one: after Hillis and Steele each round doubles how many are in.
Array products_before(const Array& lines) {
  Array products = moved_on(lines, 1);
  for (std::int64_t reach = 1; reach + 1 < lines.shape(-1); reach *= 2) {
    products = multiply(products, moved_on(products, reach));
  }
  return products;
}

// For each element the product of those it was folded with. Dividing the whole product by the
// element would be cheaper, but has no answer where one is 0; and it would divide by what may be
// tiny. Made of operations, so that it has gradients again.
Array products_of_others(const Array& a, AxisSet axes) {
  if (a.size() == 0) return a;
  std::vector<int> order;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    if (!axes.contains(i)) order.push_back(static_cast<int>(i));
  }
  std::int64_t length = 1;
  for (const int axis : as_ints(axes)) {
    order.push_back(axis);
    length *= a.shape(axis);
  }
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  const Array folded_last = transpose(a, order);
  const Array lines = reshape(folded_last, {-1, length});
  const Array others =
      multiply(products_before(lines), backwards(products_before(backwards(lines))));
  return transpose(reshape(others, folded_last.shape()), back);
}

}  // namespace

Arrays Matmul::vjp(const Arrays& inputs, const Arrays& cotangents,
                   const std::vector<std::size_t>& arguments, const Arrays& /*outputs*/) {
  Arrays gradients;
  for (const std::size_t which : arguments) {
    gradients.push_back(which == 0 ? matmul(cotangents[0], swapaxes(inputs[1], -1, -2))
                                   : matmul(swapaxes(inputs[0], -1, -2), cotangents[0]));
  }
  return gradients;
}

Arrays Reduce::vjp(const Arrays& inputs, const Arrays& cotangents,
                   const std::vector<std::size_t>& /*arguments*/, const Arrays& outputs) {
  const Array& in = inputs[0];
  const Array gradient = unfolded(cotangents[0], in.shape(), axes_);
  if (op_ == ReduceOp::sum) return {broadcast_to(gradient, in.shape())};
  if (op_ == ReduceOp::product) return {multiply(gradient, products_of_others(in, axes_))};
  const Array out = unfolded(outputs[0], in.shape(), axes_);
  // Elements that are equally extreme share it, as in MLX; there is no gradient to be had there.
  const Array mask = astype(equal(in, out), in.dtype());
  return {multiply(mask, divide(gradient, sum(mask, as_ints(axes_), KeepDims::yes)))};
}

Arrays ArgReduce::vjp(const Arrays& inputs, const Arrays& /*cotangents*/,
                      const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {zeros_like(inputs[0])};
}

Arrays Softmax::vjp(const Arrays& /*inputs*/, const Arrays& cotangents,
                    const std::vector<std::size_t>& /*arguments*/, const Arrays& outputs) {
  const Array weighted = multiply(outputs[0], cotangents[0]);
  const Array total = sum(weighted, as_ints(axes_), KeepDims::yes);
  return {subtract(weighted, multiply(outputs[0], total))};
}

// By the softmax of the input: exp(input - output) would lose the digits of large logits.
Arrays LogSumExp::vjp(const Arrays& inputs, const Arrays& cotangents,
                      const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  const Array gradient = unfolded(cotangents[0], inputs[0].shape(), axes_);
  return {multiply(gradient, softmax(inputs[0], as_ints(axes_)))};
}

}  // namespace strandline::array
