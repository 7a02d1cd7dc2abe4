// SPDX-License-Identifier: Apache-2.0
// How primitives run that change what an array looks like: views of the same memory, and a copy
// only where strides cannot say it.
#include <optional>

#include "array/iterate.h"
#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "strandline/array/descriptor.h"

namespace strandline::array {
namespace {

void copy_rows(const Array& input, Array& output, Encoder& encoder) {
  encoder.allocate(output);
  if (output.size() == 0) return;
  const Operand in = encoder.read(input);
  Operand out = encoder.write(output);
  // The shapes may differ; row by row, the elements do not.
  out.shape = in.shape;
  out.strides = row_major_strides(in.shape);
  encoder.run([in, out] { run_copy(in, out); });
}

// Strides under which memory of one shape reads as another, row by row; none where a new axis
// would have to jump within itself.
std::optional<Strides> strides_as(const Descriptor& from, const Shape& shape) {
  const Merged<1> merged = merge_axes<1>(from.shape, {from.strides});
  Strides strides(shape.size(), 0);
  std::size_t old_axis = 0;
  std::int64_t left = merged.shape[0];  // of the old axis, not yet taken by new ones
  std::int64_t stride = merged.strides[0][0] * left;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) {
      strides[i] = 0;
      continue;
    }
    if (left == 1 && old_axis + 1 < merged.shape.size()) {
      ++old_axis;
      left = merged.shape[old_axis];
      stride = merged.strides[0][old_axis] * left;
    }
    if (left % shape[i] != 0) return std::nullopt;
    stride /= shape[i];
    left /= shape[i];
    strides[i] = stride;
  }
  return strides;
}

}  // namespace

std::string_view Reshape::name() const noexcept {
  return "Reshape";
}

void Reshape::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const Descriptor& from = inputs[0].descriptor();
  if (from.is_row_contiguous) {
    encoder.share(inputs[0], outputs[0], row_major_strides(outputs[0].shape()));
  } else if (const auto strides = strides_as(from, outputs[0].shape())) {
    encoder.share(inputs[0], outputs[0], *strides);
  } else {
    copy_rows(inputs[0], outputs[0], encoder);
  }
}

std::string_view Transpose::name() const noexcept {
  return "Transpose";
}

void Transpose::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  Strides strides;
  for (const std::size_t axis : axes_) strides.push_back(inputs[0].descriptor().strides[axis]);
  encoder.share(inputs[0], outputs[0], strides);
}

std::string_view Broadcast::name() const noexcept {
  return "Broadcast";
}

void Broadcast::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const Descriptor& from = inputs[0].descriptor();
  const Shape& shape = outputs[0].shape();
  Strides strides(shape.size(), 0);
  const std::size_t lead = shape.size() - from.shape.size();
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    strides[lead + i] = from.shape[i] == 1 ? 0 : from.strides[i];
  }
  encoder.share(inputs[0], outputs[0], strides);
}

std::string_view Slice::name() const noexcept {
  return "Slice";
}

void Slice::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const Strides& from = inputs[0].descriptor().strides;
  Strides strides(from.size(), 0);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    strides[i] = from[i] * step_[i];
    offset += from[i] * start_[i];
  }
  encoder.share(inputs[0], outputs[0], strides, offset);
}

std::string_view Split::name() const noexcept {
  return "Split";
}

void Split::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  const Strides& strides = inputs[0].descriptor().strides;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    encoder.share(inputs[0], outputs[i], strides, starts_[i] * strides[axis_]);
  }
}

std::string_view View::name() const noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"Copy", "StopGradient", "Contiguous"};
  return kNames[static_cast<std::size_t>(kind_)];
}

void View::eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) {
  constexpr std::uint64_t kSlackBytes = 16384;
  const Descriptor& from = inputs[0].descriptor();
  const bool wants_rows = kind_ == ViewKind::contiguous;
  if (wants_rows &&
      (!from.is_row_contiguous || buffer_size_of(inputs[0]) > from.nbytes() + kSlackBytes)) {
    copy_rows(inputs[0], outputs[0], encoder);
    return;
  }
  encoder.share(inputs[0], outputs[0], from.strides);
}

}  // namespace strandline::array
