// SPDX-License-Identifier: Apache-2.0
// How primitives run that move elements to other places, or make them from nothing.
#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/kernels/chunk.h"
#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "array/threefry.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

/// The parts of a gather or scatter: `dense` is indexed along `axes`, `picked` has the shape of
/// the indices first, then that of the other axes.
struct Picks {
  Operand dense;
  Operand picked;
  std::vector<Operand> indices;
  std::vector<std::size_t> axes;
};

std::int64_t number_at(const Operand& indices, std::int64_t at) {
  std::int64_t index = 0;
  cast_elements(indices.dtype,
                indices.at + at * static_cast<std::int64_t>(dtype_size_bytes(indices.dtype)),
                Dtype::int64, &index, 1);
  return index;
}

[[noreturn]] void throw_outside(const char* function, std::int64_t index, const Extents& position,
                                std::size_t axis, std::int64_t extent) {
  throw OutOfRange(error_message(
      function, fmt::format("index at {} along axis {}", shape_text(position), axis),
      std::to_string(index),
      extent == 0
          ? std::string("none: the axis has no elements")
          : fmt::format("{} to {}: the axis has {} elements", -extent, extent - 1, extent)));
}

/// Calls `move(part of dense, part of picked)` for each tuple of indices, in their order.
template <typename Move>
void for_each_pick(const char* function, const Picks& picks, Move&& move) {
  const Shape& index_shape = picks.indices[0].shape;
  Operand whole = picks.dense;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> extents;
  for (const std::size_t axis : picks.axes) {
    strides.push_back(whole.strides[axis]);
    extents.push_back(whole.shape[axis]);
  }
  // The other axes of dense; those of picked come last.
  Operand part = whole;
  part.shape = Shape{};
  part.strides = Strides{};
  for (std::size_t i = 0; i < whole.shape.size(); ++i) {
    if (std::find(picks.axes.begin(), picks.axes.end(), i) != picks.axes.end()) continue;
    part.shape.push_back(whole.shape[i]);
    part.strides.push_back(whole.strides[i]);
  }
  Operand target = picks.picked;
  target.shape = part.shape;
  target.strides = Strides(picks.picked.strides.span().subspan(index_shape.size()));
  Strides outer(picks.picked.strides.span().first(index_shape.size()));
  const auto item = static_cast<std::int64_t>(dtype_size_bytes(whole.dtype));
  // Walked one after another: later additions to a place come after earlier ones.
  std::vector<Strides> walked;
  walked.reserve(picks.indices.size());
  for (const Operand& one : picks.indices) walked.push_back(one.strides);
  Extents at(index_shape.size(), 0);
  std::uint64_t left = picks.indices[0].size;
  for (; left > 0; --left) {
    std::int64_t from = 0;
    for (std::size_t k = 0; k < picks.indices.size(); ++k) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * walked[k][i];
      const std::int64_t index = number_at(picks.indices[k], place);
      if (index < -extents[k] || index >= extents[k]) {
        throw_outside(function, index, at, picks.axes[k], extents[k]);
      }
      from += (index < 0 ? index + extents[k] : index) * strides[k];
    }
    std::int64_t to = 0;
    for (std::size_t i = 0; i < at.size(); ++i) to += at[i] * outer[i];
    part.at = whole.at + from * item;
    target.at = picks.picked.at + to * item;
    move(part, target);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < index_shape[axis]) break;
      at[axis] = 0;
    }
  }
}

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
  Picks picks;
  picks.axes = axes_;
  picks.dense = encoder.read(inputs[0]);
  for (std::size_t i = 1; i < inputs.size(); ++i) picks.indices.push_back(encoder.read(inputs[i]));
  picks.picked = encoder.write(outputs[0]);
  encoder.run([picks = std::move(picks), function = function_] {
    for_each_pick(function, picks,
                  [](const Operand& from, const Operand& to) { run_copy(from, to); });
  });
}

std::string_view ScatterAdd::name() const noexcept {
  return "ScatterAdd";
}

void ScatterAdd::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const bool is_in_place = encoder.try_donate(inputs[0], outputs[0]);
  if (!is_in_place) encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand before = encoder.read(inputs[0]);
  Picks picks;
  picks.axes = axes_;
  picks.picked = encoder.read(inputs[1]);
  for (std::size_t i = 2; i < inputs.size(); ++i) picks.indices.push_back(encoder.read(inputs[i]));
  picks.dense = encoder.write(outputs[0]);
  encoder.run([picks = std::move(picks), before, is_in_place] {
    if (!is_in_place) run_copy(before, picks.dense);
    for_each_pick("scatter_add", picks,
                  [](const Operand& to, const Operand& from) { run_add_to(from, to); });
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
