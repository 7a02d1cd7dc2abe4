// SPDX-License-Identifier: Apache-2.0
// Reductions. Where the elements that are folded together are adjacent, they are folded in lanes;
// where adjacent elements go to different results, a whole row of results is folded at once.
#include <algorithm>
#include <array>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/kernels/apart.h"
#include "array/kernels/chunk.h"
#include "array/kernels/kernels.h"

namespace strandline::array {
namespace {

class Reduction {
 public:
  Reduction(ReduceOp op, const Operand& in, const Operand& out, const Apart& axes)
      : in_(in),
        out_(out),
        axes_(axes),
        compute_(compute_dtype(in.dtype)),
        in_bytes_(dtype_size_bytes(in.dtype)),
        item_(dtype_size_bytes(compute_)),
        out_bytes_(dtype_size_bytes(out.dtype)),
        op_(op),
        fold_(fold_loop(op, compute_)),
        fold_into_(fold_into(op, compute_)) {}

  void run() {
    const std::size_t folded_axes = axes_.folded.shape.size();
    const bool folds_adjacent = axes_.folded.strides[1][folded_axes - 1] == 1;
    for_each_merged_row<2>(axes_.kept, [&](const auto& at, const Row<2>& row) {
      const bool folds_rows = !folds_adjacent && row.strides[0] == 1 && row.count > 1;
      Chunk totals;
      for (std::int64_t first = 0; first < row.count; first += kChunkStep) {
        const auto count = static_cast<std::size_t>(std::min(kChunkStep, row.count - first));
        const std::int64_t from = at[0] + first * row.strides[0];
        write_neutral(op_, compute_, totals.bytes, count);
        if (folds_rows) {
          fold_rows(from, totals, count);
        } else {
          fold_lines(from, row.strides[0], totals, count);
        }
        store(totals, at[1] + first * row.strides[1], row.strides[1], count);
      }
    });
  }

 private:
  const std::byte* element(std::int64_t at) const {
    return in_.at + at * static_cast<std::int64_t>(in_bytes_);
  }

  // Adjacent compute elements.
  const std::byte* load(Chunk& chunk, std::int64_t at, std::int64_t stride, std::size_t count) {
    const bool is_same = compute_dtype(in_.dtype) == compute_ && in_bytes_ == item_;
    if (stride == 1 && is_same) return element(at);
    if (is_same) {
      gather(in_bytes_, element(at), stride, chunk.bytes, count);
    } else {
      Chunk narrow;
      gather(in_bytes_, element(at), stride, narrow.bytes, count);
      cast_elements(in_.dtype, narrow.bytes, compute_, chunk.bytes, count);
    }
    return chunk.bytes;
  }

  void store(const Chunk& totals, std::int64_t at, std::int64_t stride, std::size_t count) {
    std::byte* const to = out_.at + at * static_cast<std::int64_t>(out_bytes_);
    if (out_.dtype == compute_) {
      scatter(out_bytes_, totals.bytes, to, stride, count);
      return;
    }
    Chunk converted;
    cast_elements(compute_, totals.bytes, out_.dtype, converted.bytes, count);
    scatter(out_bytes_, converted.bytes, to, stride, count);
  }

  // A line for each result.
  void fold_lines(std::int64_t from, std::int64_t stride, Chunk& totals, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      fold_line(from + static_cast<std::int64_t>(i) * stride, totals.bytes + i * item_);
    }
  }

  void fold_line(std::int64_t from, std::byte* total) {
    for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
      Chunk chunk;
      for (std::int64_t first = 0; first < row.count; first += kChunkStep) {
        const auto part = static_cast<std::size_t>(std::min(kChunkStep, row.count - first));
        const std::int64_t start = from + at[1] + first * row.strides[1];
        fold_(load(chunk, start, row.strides[1], part), total, part);
      }
    });
  }

  // Adjacent elements belong to different results: rows of them are folded into a row of totals.
  void fold_rows(std::int64_t from, Chunk& totals, std::size_t count) {
    for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
      Chunk chunk;
      for (std::int64_t i = 0; i < row.count; ++i) {
        const std::int64_t start = from + at[1] + i * row.strides[1];
        fold_into_(load(chunk, start, 1, count), totals.bytes, count);
      }
    });
  }

  const Operand& in_;
  const Operand& out_;
  const Apart& axes_;
  Dtype compute_;
  std::size_t in_bytes_;
  std::size_t item_;
  std::size_t out_bytes_;
  ReduceOp op_;
  FoldLoop fold_;
  FoldInto fold_into_;
};

void fill_neutral(ReduceOp op, const Operand& out) {
  const Dtype compute = compute_dtype(out.dtype);
  alignas(8) std::byte value[8];
  write_neutral(op, compute, value, 1);
  const Operand one{.at = value,
                    .shape = out.shape,
                    .strides = Strides(out.shape.size(), 0),
                    .size = out.size,
                    .data_size = 1,
                    .dtype = compute};
  run_copy(one, out);
}

}  // namespace

void run_reduce(ReduceOp op, const Operand& in, AxisSet axes, const Operand& out) {
  if (in.size == 0) {
    fill_neutral(op, out);
    return;
  }
  const Apart apart = split_axes(in, axes, out);
  Reduction(op, in, out, apart).run();
}

}  // namespace strandline::array
