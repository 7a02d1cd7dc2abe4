// SPDX-License-Identifier: Apache-2.0
// How products and reductions run.
#include <array>

#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "strandline/array/descriptor.h"

namespace strandline::array {

std::string_view Matmul::name() const noexcept {
  return "Matmul";
}

void Matmul::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand a = encoder.read(inputs[0]);
  const Operand b = encoder.read(inputs[1]);
  const Operand out = encoder.write(outputs[0]);
  const std::uint64_t scratch_bytes = matmul_scratch_bytes(a, b, out);
  std::byte* scratch = scratch_bytes == 0 ? nullptr : encoder.temporary(scratch_bytes);
  encoder.run([a, b, out, scratch] { run_matmul(a, b, out, scratch); });
}

std::string_view Reduce::name() const noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"Sum", "Prod", "Max", "Min"};
  return kNames[static_cast<std::size_t>(op_)];
}

void Reduce::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([op = op_, in, axes = axes_, out] { run_reduce(op, in, axes, out); });
}

std::string_view ArgReduce::name() const noexcept {
  return op_ == ReduceOp::maximum ? "ArgMax" : "ArgMin";
}

void ArgReduce::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([op = op_, in, axis = axis_, out] { run_arg_reduce(op, in, axis, out); });
}

std::string_view Softmax::name() const noexcept {
  return "Softmax";
}

void Softmax::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  if (!encoder.try_donate(inputs[0], outputs[0])) encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([in, out, axes = axes_] { run_softmax(in, axes, out); });
}

std::string_view LogSumExp::name() const noexcept {
  return "LogSumExp";
}

void LogSumExp::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([in, out, axes = axes_] { run_log_sum_exp(in, axes, out); });
}

}  // namespace strandline::array
