// SPDX-License-Identifier: Apache-2.0
// The axes that a reduction folds, as bits: work that is queued carries them without memory of its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "strandline/array/shape.h"

namespace strandline::array {

class AxisSet {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<std::size_t> axes) {
    for (const std::size_t axis : axes) insert(axis);
  }
  static AxisSet all(std::size_t rank) noexcept {
    AxisSet axes;
    for (std::size_t i = 0; i < rank; ++i) axes.insert(i);
    return axes;
  }

  void insert(std::size_t axis) noexcept { bits_ |= 1U << axis; }
  bool contains(std::size_t axis) const noexcept { return (bits_ >> axis & 1U) != 0; }
  bool empty() const noexcept { return bits_ == 0; }

 private:
  static_assert(kMaxRank <= 32);
  std::uint32_t bits_ = 0;
};

}  // namespace strandline::array
