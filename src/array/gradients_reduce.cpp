// SPDX-License-Identifier: Apache-2.0
// Gradients of products and reductions.
#include "array/primitives.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

// With the folded axes as extents of 1, so that it broadcasts against what was folded.
Array unfolded(const Array& reduced, const Shape& shape, const std::vector<std::size_t>& axes) {
  Shape kept = shape;
  for (const std::size_t axis : axes) kept[axis] = 1;
  return reshape(reduced, kept);
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
  const Array out = unfolded(outputs[0], in.shape(), axes_);
  if (op_ == ReduceOp::product) return {multiply(gradient, divide(out, in))};
  // Elements that are equally extreme share it.
  const Array mask = astype(equal(in, out), in.dtype());
  std::vector<int> axes(axes_.begin(), axes_.end());
  return {multiply(mask, divide(gradient, sum(mask, axes, KeepDims::yes)))};
}

Arrays ArgReduce::vjp(const Arrays& inputs, const Arrays& /*cotangents*/,
                      const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {zeros_like(inputs[0])};
}

Arrays Softmax::vjp(const Arrays& /*inputs*/, const Arrays& cotangents,
                    const std::vector<std::size_t>& /*arguments*/, const Arrays& outputs) {
  const Array weighted = multiply(outputs[0], cotangents[0]);
  const Array total = sum(weighted, std::vector<int>{-1}, KeepDims::yes);
  return {subtract(weighted, multiply(outputs[0], total))};
}

Arrays LogSumExp::vjp(const Arrays& inputs, const Arrays& cotangents,
                      const std::vector<std::size_t>& /*arguments*/, const Arrays& outputs) {
  const Array gradient = expand_dims(cotangents[0], {-1});
  return {multiply(gradient, exp(subtract(inputs[0], expand_dims(outputs[0], {-1}))))};
}

}  // namespace strandline::array
