// SPDX-License-Identifier: Apache-2.0
// Shapes and strides: up to kMaxRank numbers in place, so that making an array allocates nothing
// for them. Strides count elements, not bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "strandline/core/export.h"

namespace strandline::array {

inline constexpr std::size_t kMaxRank = 10;

class STRANDLINE_API Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values)
      : Extents(std::span(values.begin(), values.size())) {}
  /// InvalidArgument for more than kMaxRank values.
  explicit Extents(std::span<const std::int64_t> values);
  /// `count` times `value`.
  Extents(std::size_t count, std::int64_t value);

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  std::int64_t* begin() noexcept { return values_.data(); }
  std::int64_t* end() noexcept { return values_.data() + size_; }
  const std::int64_t* begin() const noexcept { return values_.data(); }
  const std::int64_t* end() const noexcept { return values_.data() + size_; }
  std::span<const std::int64_t> span() const noexcept { return {values_.data(), size_}; }

  void push_back(std::int64_t value) { insert(size_, value); }
  void insert(std::size_t at, std::int64_t value);
  void erase(std::size_t at) noexcept;

  bool operator==(const Extents& other) const noexcept {
    return std::ranges::equal(span(), other.span());
  }

 private:
  std::array<std::int64_t, kMaxRank> values_;
  std::uint32_t size_ = 0;
};

using Shape = Extents;
using Strides = Extents;

/// "(2, 3)", "(4,)", "()": as Python writes a tuple.
STRANDLINE_API std::string shape_text(const Shape& shape);
/// Elements of a shape. InvalidArgument for a negative extent and for a product past 2^63, naming
/// `function`.
STRANDLINE_API std::uint64_t element_count(const char* function, const Shape& shape);
STRANDLINE_API Strides row_major_strides(const Shape& shape);
/// NumPy's rule: from the right, extents are equal or one of them is 1. None where they are not.
STRANDLINE_API std::optional<Shape> try_broadcast_shapes(const Shape& a, const Shape& b);
/// The same, InvalidArgument where they are not.
STRANDLINE_API Shape broadcast_shapes(const char* function, const Shape& a, const Shape& b);
/// -rank … rank-1 to 0 … rank-1. InvalidArgument outside, as MLX and NumPy have it.
STRANDLINE_API std::size_t normal_axis(const char* function, int axis, std::size_t rank);

}  // namespace strandline::array
