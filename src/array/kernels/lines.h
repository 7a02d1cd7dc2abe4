// SPDX-License-Identifier: Apache-2.0
// What is folded together, one line after another, as adjacent elements of T.
//
//   lines side by side     a0 b0 c0 …       are brought together several at a time, so that memory
//                          a1 b1 c1 …       is walked as it lies:  a0 a1 …  b0 b1 …  c0 c1 …
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "array/cast.h"
#include "array/kernels/apart.h"
#include "strandline/array/dtype.h"

namespace strandline::array {

template <typename T>
class Lines {
 public:
  Lines(const Operand& in, AxisSet axes, const Operand& out)
      : in_(in), out_(out), axes_(split_axes(in, axes, out)) {
    for (const std::int64_t extent : axes_.folded.shape) {
      length_ *= static_cast<std::size_t>(extent);
    }
    const std::size_t fitting = kTileBytes / (length_ * sizeof(T));
    together_ = static_cast<std::int64_t>(std::clamp(fitting, std::size_t{1}, kMostTogether));
  }

  /// Calls `change(line)` for each line and stores what it left there, along the axes of `out`.
  template <typename Change>
  void change_each(Change&& change) {
    for_each_block([&](const Block& block) {
      load(block);
      for (std::size_t i = 0; i < block.lines; ++i) change(line(i));
      store(block);
    });
  }

  /// Calls `fold(line)` for each line and stores the value it returned.
  template <typename Fold>
  void fold_each(Fold&& fold) {
    for_each_block([&](const Block& block) {
      load(block);
      for (std::size_t i = 0; i < block.lines; ++i) {
        const auto result = fold(line(i));
        cast_elements(kDtypeOf<std::remove_const_t<decltype(result)>>, &result, out_.dtype,
                      place(out_, block.to + static_cast<std::int64_t>(i) * block.to_stride), 1);
      }
    });
  }

 private:
  static constexpr std::size_t kTileBytes = std::size_t{1} << 18;
  static constexpr std::size_t kMostTogether = 16;

  /// Lines that are handled together: where the first begins in `in` and `out`, and how far apart.
  struct Block {
    std::int64_t from;
    std::int64_t from_stride;
    std::int64_t to;
    std::int64_t to_stride;
    std::size_t lines;
  };

  static std::byte* place(const Operand& operand, std::int64_t at) {
    return operand.at + at * static_cast<std::int64_t>(dtype_size_bytes(operand.dtype));
  }

  std::span<T> line(std::size_t i) { return {tile_.data() + i * length_, length_}; }

  template <typename Visit>
  void for_each_block(Visit&& visit) {
    for_each_merged_row<2>(axes_.kept, [&](const auto& at, const Row<2>& row) {
      const bool are_side_by_side = row.strides[0] == 1 || row.strides[1] == 1;
      const std::int64_t step = are_side_by_side ? std::min(together_, row.count) : 1;
      for (std::int64_t first = 0; first < row.count; first += step) {
        visit(Block{.from = at[0] + first * row.strides[0],
                    .from_stride = row.strides[0],
                    .to = at[1] + first * row.strides[1],
                    .to_stride = row.strides[1],
                    .lines = static_cast<std::size_t>(std::min(step, row.count - first))});
      }
    });
  }

  /// Calls `visit(position, row)` for each row of a line: the place of its first element in the
  /// line, and (out, in) strides.
  template <typename Visit>
  void for_each_stretch(Visit&& visit) {
    std::size_t position = 0;
    for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
      visit(position, at, row);
      position += static_cast<std::size_t>(row.count);
    });
  }

  // Elements of the tile as they are in memory: the tile itself where the types are one.
  std::byte* items_of(const Operand& operand) {
    if (operand.dtype == kDtypeOf<T>) return reinterpret_cast<std::byte*>(tile_.data());
    narrow_.resize(tile_.size() * dtype_size_bytes(operand.dtype));
    return narrow_.data();
  }

  void load(const Block& block) {
    tile_.resize(block.lines * length_);
    const std::size_t item = dtype_size_bytes(in_.dtype);
    std::byte* const items = items_of(in_);
    const bool walks_across = block.lines > 1 && block.from_stride == 1;
    for_each_stretch([&](std::size_t position, const auto& at, const Row<2>& row) {
      const auto count = static_cast<std::size_t>(row.count);
      if (walks_across) {
        for (std::size_t i = 0; i < count; ++i) {
          scatter(item,
                  place(in_, block.from + at[1] + static_cast<std::int64_t>(i) * row.strides[1]),
                  items + (position + i) * item, static_cast<std::int64_t>(length_), block.lines);
        }
        return;
      }
      for (std::size_t i = 0; i < block.lines; ++i) {
        const std::int64_t start = block.from + static_cast<std::int64_t>(i) * block.from_stride;
        gather(item, place(in_, start + at[1]), row.strides[1],
               items + (i * length_ + position) * item, count);
      }
    });
    if (in_.dtype == kDtypeOf<T>) return;
    cast_elements(in_.dtype, items, kDtypeOf<T>, tile_.data(), tile_.size());
  }

  void store(const Block& block) {
    const std::size_t item = dtype_size_bytes(out_.dtype);
    std::byte* const items = items_of(out_);
    if (out_.dtype != kDtypeOf<T>) {
      cast_elements(kDtypeOf<T>, tile_.data(), out_.dtype, items, tile_.size());
    }
    const bool walks_across = block.lines > 1 && block.to_stride == 1;
    for_each_stretch([&](std::size_t position, const auto& at, const Row<2>& row) {
      const auto count = static_cast<std::size_t>(row.count);
      if (walks_across) {
        for (std::size_t i = 0; i < count; ++i) {
          gather(item, items + (position + i) * item, static_cast<std::int64_t>(length_),
                 place(out_, block.to + at[0] + static_cast<std::int64_t>(i) * row.strides[0]),
                 block.lines);
        }
        return;
      }
      for (std::size_t i = 0; i < block.lines; ++i) {
        const std::int64_t start = block.to + static_cast<std::int64_t>(i) * block.to_stride;
        scatter(item, items + (i * length_ + position) * item, place(out_, start + at[0]),
                row.strides[0], count);
      }
    });
  }

  const Operand& in_;
  const Operand& out_;
  Apart axes_;
  std::size_t length_ = 1;
  std::int64_t together_ = 1;
  std::vector<T> tile_;
  std::vector<std::byte> narrow_;
};

}  // namespace strandline::array
