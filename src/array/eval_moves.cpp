// SPDX-License-Identifier: Apache-2.0
// How primitives run that move elements to other places, or make them from nothing.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "array/cast.h"
#include "array/iterate.h"
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

std::int64_t index_at(const Operand& indices, std::int64_t at, std::int64_t extent,
                      const char* function) {
  std::int64_t index = 0;
  cast_elements(indices.dtype,
                indices.at + at * static_cast<std::int64_t>(dtype_size_bytes(indices.dtype)),
                Dtype::int64, &index, 1);
  if (index < -extent || index >= extent) {
    throw OutOfRange(error_message(function, "index", std::to_string(index),
                                   extent == 0 ? std::string("none: the axis has no elements")
                                               : fmt::format("{} to {}", -extent, extent - 1)));
  }
  return index < 0 ? index + extent : index;
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
      from += index_at(picks.indices[k], place, extents[k], function) * strides[k];
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

}  // namespace

void Arange::eval(const Arrays&, Arrays& outputs, Encoder& encoder) {
  encoder.allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  const Operand out = encoder.write(outputs[0]);
  encoder.run([start = start_, step = step_, out] {
    const std::size_t item = dtype_size_bytes(out.dtype);
    for (std::uint64_t i = 0; i < out.size; ++i) {
      const double value = start + static_cast<double>(i) * step;
      cast_elements(Dtype::float64, &value, out.dtype, out.at + i * item, 1);
    }
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
  encoder.run([picks = std::move(picks)] {
    for_each_pick("gather", picks,
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
