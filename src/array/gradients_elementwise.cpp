// SPDX-License-Identifier: Apache-2.0
// Gradients of elementwise primitives. Where a function has no slope (abs at 0, equal operands of
// maximum, a bound of clip) or an infinite one (sqrt at 0), they are MLX's, so that programs train
// alike on both; docs/array.md lists these corners.
#include "array/primitives.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

Array like(double value, const Array& a) {
  return scalar(value, a.dtype());
}

// d op(x) / dx, given the input x and the output y.
Array unary_slope(UnaryOp op, const Array& x, const Array& y) {
  constexpr double kRootPi = 1.7724538509055160273;
  switch (op) {
    case UnaryOp::negate:
      return like(-1, x);
    case UnaryOp::abs:
      return sign(x);
    case UnaryOp::square:
      return multiply(like(2, x), x);
    case UnaryOp::exp:
      return y;
    case UnaryOp::log:
      return divide(like(1, x), x);
    case UnaryOp::sqrt:
      return divide(like(0.5, x), y);
    case UnaryOp::rsqrt:
      return multiply(like(-0.5, x), divide(y, x));
    case UnaryOp::tanh:
      return subtract(like(1, x), square(y));
    case UnaryOp::sigmoid:
      return multiply(y, subtract(like(1, x), y));
    case UnaryOp::erf:
      return multiply(like(2 / kRootPi, x), exp(negative(square(x))));
    case UnaryOp::erf_inv:
      return multiply(like(kRootPi / 2, x), exp(square(y)));
    case UnaryOp::sin:
      return cos(x);
    case UnaryOp::cos:
      return negative(sin(x));
    default:  // steps
      return like(0, x);
  }
}

// `left` or `right` operand of a binary operation, given both and the output.
Array binary_slope(BinaryOp op, std::size_t which, const Array& a, const Array& b, const Array& y) {
  const bool is_left = which == 0;
  switch (op) {
    case BinaryOp::multiply:
      return is_left ? b : a;
    case BinaryOp::divide:
      return is_left ? divide(like(1, b), b) : negative(divide(y, b));
    case BinaryOp::remainder:
      return is_left ? like(1, a) : negative(floor_divide(a, b));
    case BinaryOp::power:
      if (is_left) return multiply(b, power(a, subtract(b, like(1, b))));
      // What is 0 whatever the exponent does not change with it, though its logarithm is none.
      return where(equal(y, like(0, y)), like(0, y), multiply(y, log(a)));
    case BinaryOp::maximum:
      return astype(is_left ? greater(a, b) : less_equal(a, b), a.dtype());
    case BinaryOp::minimum:
      return astype(is_left ? less(a, b) : greater_equal(a, b), a.dtype());
    case BinaryOp::logaddexp:
      return is_left ? sigmoid(subtract(a, b)) : sigmoid(subtract(b, a));
    default:  // steps
      return like(0, a);
  }
}

}  // namespace

Arrays Unary::vjp(const Arrays& inputs, const Arrays& cotangents,
                  const std::vector<std::size_t>& /*arguments*/, const Arrays& outputs) {
  if (op_ == UnaryOp::negate) return {negative(cotangents[0])};
  if (op_ == UnaryOp::logical_not) return {zeros_like(inputs[0])};
  return {multiply(cotangents[0], unary_slope(op_, inputs[0], outputs[0]))};
}

Arrays Binary::vjp(const Arrays& inputs, const Arrays& cotangents,
                   const std::vector<std::size_t>& arguments, const Arrays& outputs) {
  Arrays gradients;
  for (const std::size_t which : arguments) {
    if (gives_bool(op_)) {
      gradients.push_back(zeros_like(inputs[which]));
    } else if (op_ == BinaryOp::add || (op_ == BinaryOp::subtract && which == 0)) {
      gradients.push_back(cotangents[0]);
    } else if (op_ == BinaryOp::subtract) {
      gradients.push_back(negative(cotangents[0]));
    } else {
      const Array slope = binary_slope(op_, which, inputs[0], inputs[1], outputs[0]);
      gradients.push_back(multiply(cotangents[0], slope));
    }
  }
  return gradients;
}

Arrays Select::vjp(const Arrays& inputs, const Arrays& cotangents,
                   const std::vector<std::size_t>& arguments, const Arrays& /*outputs*/) {
  const Array nothing = like(0, cotangents[0]);
  Arrays gradients;
  for (const std::size_t which : arguments) {
    if (which == 0) gradients.push_back(zeros_like(inputs[0]));
    if (which == 1) gradients.push_back(where(inputs[0], cotangents[0], nothing));
    if (which == 2) gradients.push_back(where(inputs[0], nothing, cotangents[0]));
  }
  return gradients;
}

Arrays AsType::vjp(const Arrays& inputs, const Arrays& cotangents,
                   const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {astype(cotangents[0], inputs[0].dtype())};
}

Arrays Full::vjp(const Arrays& /*inputs*/, const Arrays& cotangents,
                 const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) {
  return {cotangents[0]};
}

}  // namespace strandline::array
