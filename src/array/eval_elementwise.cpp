// SPDX-License-Identifier: Apache-2.0
// How elementwise primitives run: the result lies as the operands do where these agree, and takes
// over the buffer of one of them where nobody else needs it.
#include <array>

#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "strandline/array/descriptor.h"

namespace strandline::array {
namespace {

constexpr std::array<std::string_view, 18> kUnaryNames = {
    "Negative", "Abs", "Sign",   "Square", "Exp", "Log",   "Sqrt", "Rsqrt", "Tanh",
    "Sigmoid",  "Erf", "ErfInv", "Sin",    "Cos", "Floor", "Ceil", "Round", "LogicalNot"};
constexpr std::array<std::string_view, 18> kBinaryNames = {
    "Add",   "Subtract",  "Multiply", "Divide",       "FloorDivide", "Remainder",
    "Power", "Maximum",   "Minimum",  "LogAddExp",    "Equal",       "NotEqual",
    "Less",  "LessEqual", "Greater",  "GreaterEqual", "LogicalAnd",  "LogicalOr"};

// Operands have one shape. A broadcast one spans fewer elements than it has, and gives no layout.
void place_output(const Arrays& inputs, std::size_t first, Array& output, Encoder& encoder) {
  const Descriptor* layout = nullptr;
  bool agree = true;
  for (std::size_t i = first; i < inputs.size(); ++i) {
    const Descriptor& node = inputs[i].descriptor();
    const bool is_full = node.is_dense && node.data_size == node.size;
    if (!is_full) continue;
    if (layout == nullptr) {
      layout = &node;
    } else {
      agree = agree && layout->strides == node.strides;
    }
  }
  if (layout == nullptr || !agree) {
    // The first that lies row by row may still be taken over.
    for (std::size_t i = first; i < inputs.size(); ++i) {
      if (inputs[i].descriptor().is_row_contiguous && encoder.try_donate(inputs[i], output)) return;
    }
    encoder.allocate(output);
    return;
  }
  for (std::size_t i = first; i < inputs.size(); ++i) {
    if (encoder.try_donate(inputs[i], output)) return;
  }
  encoder.allocate(output, layout->strides);
}

}  // namespace

std::string_view Unary::name() const noexcept {
  return kUnaryNames[static_cast<std::size_t>(op_)];
}

void Unary::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  place_output(inputs, 0, outputs[0], encoder);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([op = op_, in, out] { run_unary(op, in, out); });
}

std::string_view Binary::name() const noexcept {
  return kBinaryNames[static_cast<std::size_t>(op_)];
}

void Binary::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  place_output(inputs, 0, outputs[0], encoder);
  if (outputs[0].size() == 0) return;
  const Operand a = encoder.read(inputs[0]);
  const Operand b = encoder.read(inputs[1]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([op = op_, a, b, out] { run_binary(op, a, b, out); });
}

std::string_view Select::name() const noexcept {
  return "Select";
}

void Select::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  place_output(inputs, 1, outputs[0], encoder);
  if (outputs[0].size() == 0) return;
  const Operand condition = encoder.read(inputs[0]);
  const Operand a = encoder.read(inputs[1]);
  const Operand b = encoder.read(inputs[2]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([condition, a, b, out] { run_select(condition, a, b, out); });
}

std::string_view AsType::name() const noexcept {
  return "AsType";
}

void AsType::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const Descriptor& from = inputs[0].descriptor();
  if (from.is_dense && from.data_size == from.size) {
    encoder.allocate(outputs[0], from.strides);
  } else {
    encoder.allocate(outputs[0]);
  }
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([in, out] { run_copy(in, out); });
}

std::string_view Full::name() const noexcept {
  return "Full";
}

void Full::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([in, out] { run_copy(in, out); });
}

}  // namespace strandline::array
