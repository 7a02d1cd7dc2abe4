// SPDX-License-Identifier: Apache-2.0
// How primitives run that move elements to other places, or make them from nothing.
#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "array/cast.h"
#include "array/kernels/chunk.h"
#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "array/threefry.h"

namespace strandline::array {
namespace {

double range_element(double start, double step, std::uint64_t i) {
  return start + static_cast<double>(i) * step;
}
// Modulo 2^64: the element is one of 64 bits, but i * step may not be.
std::int64_t range_element(std::int64_t start, std::int64_t step, std::uint64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                   i * static_cast<std::uint64_t>(step));
}

template <typename Number>
void fill_range(Number start, Number step, const Operand& out) {
  const std::size_t item = dtype_size_bytes(out.dtype);
  std::array<Number, kChunk> values;
  for (std::uint64_t first = 0; first < out.size; first += kChunk) {
    const std::size_t part = std::min<std::uint64_t>(kChunk, out.size - first);
    for (std::size_t i = 0; i < part; ++i) values[i] = range_element(start, step, first + i);
    cast_elements(kDtypeOf<Number>, values.data(), out.dtype, out.at + first * item, part);
  }
}

}  // namespace

void Arange::eval(const Arrays&, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand out = encoder.write(outputs[0]);
  encoder.run([start = start_, step = step_, out] {
    std::visit([&](auto from) { fill_range(from, std::get<decltype(from)>(step), out); }, start);
  });
}

std::string_view Concatenate::name() const noexcept {
  return "Concatenate";
}

void Concatenate::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  std::vector<Operand> parts;
  parts.reserve(inputs.size());
  for (const Array& input : inputs) parts.push_back(encoder.read(input));
  const Operand out = encoder.write(outputs[0]);
  encoder.run([parts = std::move(parts), out, axis = axis_] {
    Shape start(out.shape.size(), 0);
    for (const Operand& part : parts) {
      run_copy(part, part_of(out, start, Shape(out.shape.size(), 1), part.shape));
      start[axis] += part.shape[axis];
    }
  });
}

std::string_view Pad::name() const noexcept {
  return "Pad";
}

void Pad::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand in = encoder.read(inputs[0]);
  Operand value = encoder.read(inputs[1]);
  const Operand out = encoder.write(outputs[0]);
  value.shape = out.shape;
  value.strides = Strides(out.shape.size(), 0);
  encoder.run([in, value, out, start = start_, step = step_] {
    run_copy(value, out);
    run_copy(in, part_of(out, start, step, in.shape));
  });
}

std::string_view Gather::name() const noexcept {
  return "Gather";
}

void Gather::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  Picks picks{.function = function_, .axes = axes_};
  picks.dense = encoder.read(inputs[0]);
  for (std::size_t i = 1; i < inputs.size(); ++i) picks.indices.push_back(encoder.read(inputs[i]));
  picks.picked = encoder.write(outputs[0]);
  encoder.run([picks = std::move(picks)] { run_gather(picks); });
}

std::string_view ScatterAdd::name() const noexcept {
  return "ScatterAdd";
}

void ScatterAdd::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const bool is_in_place = encoder.try_donate(inputs[0], outputs[0]);
  if (!is_in_place) encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand before = encoder.read(inputs[0]);
  Picks picks{.function = "scatter_add", .axes = axes_};
  picks.picked = encoder.read(inputs[1]);
  for (std::size_t i = 2; i < inputs.size(); ++i) picks.indices.push_back(encoder.read(inputs[i]));
  picks.dense = encoder.write(outputs[0]);
  encoder.run([picks = std::move(picks), before, is_in_place] {
    if (!is_in_place) run_copy(before, picks.dense);
    run_scatter_add(picks);
  });
}

void RandomBits::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand keys = encoder.read(inputs[0]);
  const Operand out = encoder.write(outputs[0]);
  encoder.run([keys, out] {
    std::vector<std::uint32_t> rows(keys.size);
    Operand adjacent = keys;
    adjacent.at = reinterpret_cast<std::byte*>(rows.data());
    adjacent.strides = row_major_strides(keys.shape);
    run_copy(keys, adjacent);
    const std::uint64_t count = keys.size / 2;
    const std::uint64_t each = out.size / count;
    auto* to = reinterpret_cast<std::uint32_t*>(out.at);
    for (std::uint64_t i = 0; i < count; ++i) {
      fill_random_bits({rows[2 * i], rows[2 * i + 1]}, {to + i * each, each});
    }
  });
}

}  // namespace strandline::array
