// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/shape.h"

#include <limits>

#include <fmt/format.h>

#include "strandline/core/checked.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

void check_rank(std::size_t rank) {
  if (rank <= kMaxRank) return;
  throw InvalidArgument(
      error_message("Shape", "axes", std::to_string(rank), fmt::format("at most {}", kMaxRank)));
}

}  // namespace

Extents::Extents(std::span<const std::int64_t> values)
    : size_(static_cast<std::uint32_t>(values.size())) {
  check_rank(values.size());
  std::ranges::copy(values, values_.begin());
}

Extents::Extents(std::size_t count, std::int64_t value) : size_(static_cast<std::uint32_t>(count)) {
  check_rank(count);
  std::fill_n(values_.begin(), count, value);
}

void Extents::insert(std::size_t at, std::int64_t value) {
  check_rank(std::size_t{size_} + 1);
  std::copy_backward(begin() + at, end(), end() + 1);
  values_[at] = value;
  ++size_;
}

void Extents::erase(std::size_t at) noexcept {
  std::copy(begin() + at + 1, end(), begin() + at);
  --size_;
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (shape.size() == 1) text += ",";
  return text + ")";
}

std::uint64_t element_count(const char* function, const Shape& shape) {
  std::uint64_t count = 1;
  bool overflows = false;
  bool is_empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw InvalidArgument(
          error_message(function, "shape", shape_text(shape), "extents that are not negative"));
    }
    const auto product = try_multiply(count, static_cast<std::uint64_t>(extent));
    overflows = overflows || !product;
    count = product.value_or(1);
    is_empty = is_empty || extent == 0;
  }
  if (is_empty) return 0;
  // Room for the byte count of the widest element.
  if (overflows || count > std::numeric_limits<std::uint64_t>::max() / 16) {
    throw InvalidArgument(
        error_message(function, "shape", shape_text(shape), "fewer than 2^60 elements"));
  }
  return count;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::optional<Shape> try_broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[lead + i];
    if (extent == shorter[i] || shorter[i] == 1) continue;
    if (extent != 1) return std::nullopt;
    extent = shorter[i];
  }
  return result;
}

Shape broadcast_shapes(const char* function, const Shape& a, const Shape& b) {
  if (const std::optional<Shape> shape = try_broadcast_shapes(a, b)) return *shape;
  throw InvalidArgument(error_message(function, "shapes",
                                      fmt::format("{} and {}", shape_text(a), shape_text(b)),
                                      "shapes that broadcast: from the right, extents equal or 1"));
}

std::size_t normal_axis(const char* function, int axis, std::size_t rank) {
  const int count = static_cast<int>(rank);
  if (axis < -count || axis >= count) {
    throw InvalidArgument(error_message(function, "axis", std::to_string(axis),
                                        rank == 0 ? std::string("none: the array is a scalar")
                                                  : fmt::format("{} to {}", -count, count - 1)));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

}  // namespace strandline::array
