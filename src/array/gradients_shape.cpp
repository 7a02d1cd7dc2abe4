// SPDX-License-Identifier: Apache-2.0
// Gradients of primitives that change shapes or move elements.
#include "array/operation_checks.h"
#include "array/primitives.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

// `part` placed every `step` from `start` on in zeros of `shape`.
Array placed(const Array& part, const Shape& shape, const Shape& start, const Shape& step) {
  return make_node<Pad>(shape, part.dtype(), {part, scalar(0, part.dtype())}, start, step);
}

// The part of `whole` that such a placing would have come from.
Array taken(const Array& whole, const Shape& shape, const Shape& start, const Shape& step) {
  return make_node<Slice>(shape, whole.dtype(), {whole}, start, step);
}

}  // namespace

Arrays Reshape::vjp(const Arrays& inputs, const Arrays& cotangents,
                    const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {reshape(cotangents[0], inputs[0].shape())};
}

Arrays Transpose::vjp(const Arrays& /*inputs*/, const Arrays& cotangents,
                      const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  std::vector<int> back(axes_.size());
  for (std::size_t i = 0; i < axes_.size(); ++i) back[axes_[i]] = static_cast<int>(i);
  return {transpose(cotangents[0], back)};
}

Arrays Broadcast::vjp(const Arrays& inputs, const Arrays& cotangents,
                      const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  const Shape& narrow = inputs[0].shape();
  const Shape& wide = cotangents[0].shape();
  const std::size_t lead = wide.size() - narrow.size();
  std::vector<int> spread;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (i < lead || narrow[i - lead] != wide[i]) spread.push_back(static_cast<int>(i));
  }
  return {reshape(sum(cotangents[0], spread), narrow)};
}

Arrays Slice::vjp(const Arrays& inputs, const Arrays& cotangents,
                  const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {placed(cotangents[0], inputs[0].shape(), start_, step_)};
}

Arrays Split::vjp(const Arrays& /*inputs*/, const Arrays& cotangents,
                  const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {concatenate(cotangents, static_cast<int>(axis_))};
}

Arrays View::vjp(const Arrays& inputs, const Arrays& cotangents,
                 const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  if (kind_ == ViewKind::stop_gradient) return {zeros_like(inputs[0])};
  return {cotangents[0]};
}

Arrays Concatenate::vjp(const Arrays& inputs, const Arrays& cotangents,
                        const std::vector<std::size_t>& arguments, const Arrays& /*outputs*/) {
  const std::size_t rank = cotangents[0].ndim();
  Arrays gradients;
  for (const std::size_t which : arguments) {
    Shape start(rank, 0);
    for (std::size_t i = 0; i < which; ++i) start[axis_] += inputs[i].shape()[axis_];
    gradients.push_back(taken(cotangents[0], inputs[which].shape(), start, Shape(rank, 1)));
  }
  return gradients;
}

Arrays Pad::vjp(const Arrays& inputs, const Arrays& cotangents,
                const std::vector<std::size_t>& arguments, const Arrays& /*outputs*/) {
  const Array inside = taken(cotangents[0], inputs[0].shape(), start_, step_);
  Arrays gradients;
  for (const std::size_t which : arguments) {
    // The value has what the padded places have.
    gradients.push_back(which == 0 ? inside : subtract(sum(cotangents[0]), sum(inside)));
  }
  return gradients;
}

Arrays Gather::vjp(const Arrays& inputs, const Arrays& cotangents,
                   const std::vector<std::size_t>& arguments, const Arrays& /*outputs*/) {
  const Arrays indices(inputs.begin() + 1, inputs.end());
  Arrays gradients;
  for (const std::size_t which : arguments) {
    gradients.push_back(
        which == 0 ? scatter_add(zeros_like(inputs[0]), indices, cotangents[0], as_ints(axes_))
                   : zeros_like(inputs[which]));
  }
  return gradients;
}

Arrays ScatterAdd::vjp(const Arrays& inputs, const Arrays& cotangents,
                       const std::vector<std::size_t>& arguments, const Arrays& /*outputs*/) {
  const Arrays indices(inputs.begin() + 2, inputs.end());
  Arrays gradients;
  for (const std::size_t which : arguments) {
    if (which == 0) gradients.push_back(cotangents[0]);
    if (which == 1) gradients.push_back(gather(cotangents[0], indices, as_ints(axes_)));
    if (which > 1) gradients.push_back(zeros_like(inputs[which]));
  }
  return gradients;
}

}  // namespace strandline::array
