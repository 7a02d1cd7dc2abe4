// SPDX-License-Identifier: Apache-2.0
// Gradients of products and reductions.
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

// For each element of a line the product of the others: its partner in the other half, and the
// pairs that are not its own.
//   a b c d   is pairs ac bd with others bd ac   so  c·bd  d·ac  a·bd  b·ac
Array products_in_lines(const Array& lines) {
  const std::int64_t rows = lines.shape(0);
  const std::int64_t length = lines.shape(1);
  if (length == 1) return ones_like(lines);
  const std::int64_t half = (length + 1) / 2;
  const Array left = slice(lines, {0, 0}, {rows, half}, {1, 1});
  const Array right = pad(slice(lines, {0, half}, {rows, length}, {1, 1}),
                          {{0, 0}, {0, length % 2}}, scalar(1, lines.dtype()));
  const Array others = products_in_lines(left * right);
  const Array made = concatenate({right * others, left * others}, 1);
  return slice(made, {0, 0}, {rows, length}, {1, 1});
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
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  const Array folded_last = transpose(a, order);
  const Array lines = reshape(folded_last, {-1, length});
  return transpose(reshape(products_in_lines(lines), folded_last.shape()), back);
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
