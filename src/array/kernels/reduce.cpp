// SPDX-License-Identifier: Apache-2.0
// Reductions. Where the elements that are folded together are adjacent, they are folded in lanes;
// where adjacent elements go to different results, a whole row of results is folded at once.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/kernels/chunk.h"
#include "array/kernels/kernels.h"

namespace strandline::array {
namespace {

/// The axes of a reduction, apart: those that stay, with the strides of `in` and `out`, and those
/// that are folded, with the strides of `out` and `in`: walked as `in` lies in memory.
struct Apart {
  Merged<2> kept;
  Merged<2> folded;
};

/// `out` has the axes that stay, and either all of the others or none.
Apart split_axes(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out) {
  const bool has_all = out.shape.size() == in.shape.size();
  Shape kept_shape;
  Shape folded_shape;
  std::array<Strides, 2> kept;
  std::array<Strides, 2> folded;
  std::size_t out_axis = 0;
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    const bool is_folded = std::find(axes.begin(), axes.end(), i) != axes.end();
    const std::int64_t to = is_folded && !has_all ? 0 : out.strides[out_axis++];
    (is_folded ? folded_shape : kept_shape).push_back(in.shape[i]);
    (is_folded ? folded[1] : kept[0]).push_back(in.strides[i]);
    (is_folded ? folded[0] : kept[1]).push_back(to);
  }
  return {.kept = merge_axes<2>(kept_shape, kept),
          .folded = merge_axes<2>(folded_shape, folded, RowOrder::any)};
}

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
        fold_(fold_loop(op, compute_)),
        fold_into_(fold_into(op, compute_)) {
    write_neutral(op, compute_, neutral_);
  }

  void run() {
    const std::size_t folded_axes = axes_.folded.shape.size();
    const bool folds_adjacent = axes_.folded.strides[1][folded_axes - 1] == 1;
    for_each_merged_row<2>(axes_.kept, [&](const auto& at, const Row<2>& row) {
      if (!folds_adjacent && row.strides[0] == 1 && row.count > 1) {
        fold_rows(at[0], at[1], row);
      } else {
        for (std::int64_t i = 0; i < row.count; ++i) {
          fold_one(at[0] + i * row.strides[0], at[1] + i * row.strides[1]);
        }
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

  void store(const std::byte* totals, std::int64_t at, std::int64_t stride, std::size_t count) {
    std::byte* const to = out_.at + at * static_cast<std::int64_t>(out_bytes_);
    Chunk converted;
    cast_elements(compute_, totals, out_.dtype, converted.bytes, count);
    scatter(out_bytes_, converted.bytes, to, stride, count);
  }

  void fold_one(std::int64_t from, std::int64_t to) {
    alignas(8) std::byte total[8];
    std::copy_n(neutral_, item_, total);
    for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
      Chunk chunk;
      for (std::int64_t first = 0; first < row.count; first += kChunkStep) {
        const auto part = static_cast<std::size_t>(std::min(kChunkStep, row.count - first));
        const std::int64_t start = from + at[1] + first * row.strides[1];
        fold_(load(chunk, start, row.strides[1], part), total, part);
      }
    });
    store(total, to, 1, 1);
  }

  // Adjacent elements of the row belong to different results.
  void fold_rows(std::int64_t from, std::int64_t to, const Row<2>& kept) {
    for (std::int64_t first = 0; first < kept.count; first += kChunkStep) {
      const auto part = static_cast<std::size_t>(std::min(kChunkStep, kept.count - first));
      Chunk totals;
      for (std::size_t i = 0; i < part; ++i) std::copy_n(neutral_, item_, totals.bytes + i * item_);
      for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
        Chunk chunk;
        for (std::int64_t i = 0; i < row.count; ++i) {
          const std::int64_t start = from + at[1] + i * row.strides[1] + first;
          fold_into_(load(chunk, start, 1, part), totals.bytes, part);
        }
      });
      store(totals.bytes, to + first * kept.strides[1], kept.strides[1], part);
    }
  }

  const Operand& in_;
  const Operand& out_;
  const Apart& axes_;
  Dtype compute_;
  std::size_t in_bytes_;
  std::size_t item_;
  std::size_t out_bytes_;
  FoldLoop fold_;
  FoldInto fold_into_;
  alignas(8) std::byte neutral_[8] = {};
};

void fill_neutral(ReduceOp op, const Operand& out) {
  const Dtype compute = compute_dtype(out.dtype);
  alignas(8) std::byte value[8];
  write_neutral(op, compute, value);
  const Operand one{.at = value,
                    .shape = out.shape,
                    .strides = Strides(out.shape.size(), 0),
                    .size = out.size,
                    .data_size = 1,
                    .dtype = compute};
  run_copy(one, out);
}

// -- line by line ---------------------------------------------------------------------------------

// The first element that equals `best`, which is among them; the first NaN when it is one.
template <typename T>
std::size_t place_of(T best, const std::vector<T>& values) {
  constexpr std::size_t kBlock = 64;
  const bool is_nan = best != best;
  for (std::size_t first = 0;; first += kBlock) {
    const std::size_t end = std::min(values.size(), first + kBlock);
    int found = 0;
    for (std::size_t i = first; i < end; ++i) {
      found |= is_nan ? values[i] != values[i] : values[i] == best;
    }
    if (found == 0) continue;
    const auto matches = [&](T value) { return is_nan ? value != value : value == best; };
    while (!matches(values[first])) ++first;
    return first;
  }
}

template <typename T>
std::uint32_t best_of(FoldLoop fold, const std::vector<T>& values) {
  T best = values[0];
  fold(values.data(), &best, values.size());
  return static_cast<std::uint32_t>(place_of(best, values));
}

/// What is folded together, one line after another, as adjacent elements of T.
template <typename T>
class Lines {
 public:
  Lines(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out)
      : in_(in), out_(out), axes_(split_axes(in, axes, out)) {
    std::size_t length = 1;
    for (const std::int64_t extent : axes_.folded.shape) length *= static_cast<std::size_t>(extent);
    values_.resize(length);
    narrow_.resize(length * std::max(dtype_size_bytes(in.dtype), dtype_size_bytes(out.dtype)));
  }

  /// Calls `visit(values, to)` for each line; `to` is where its results begin.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for_each_merged_row<2>(axes_.kept, [&](const auto& at, const Row<2>& row) {
      for (std::int64_t i = 0; i < row.count; ++i) {
        load(at[0] + i * row.strides[0]);
        visit(values_, place(out_, at[1] + i * row.strides[1]));
      }
    });
  }

  /// A result for each element of the line, along its axes.
  void store(const std::vector<T>& results, std::byte* to) {
    const std::size_t item = dtype_size_bytes(out_.dtype);
    const bool is_same = out_.dtype == kDtypeOf<T>;
    if (!is_same) {
      cast_elements(kDtypeOf<T>, results.data(), out_.dtype, narrow_.data(), results.size());
    }
    const std::byte* next =
        is_same ? reinterpret_cast<const std::byte*>(results.data()) : narrow_.data();
    for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
      const auto count = static_cast<std::size_t>(row.count);
      scatter(item, next, to + at[0] * static_cast<std::int64_t>(item), row.strides[0], count);
      next += count * item;
    });
  }

 private:
  static std::byte* place(const Operand& operand, std::int64_t at) {
    return operand.at + at * static_cast<std::int64_t>(dtype_size_bytes(operand.dtype));
  }

  void load(std::int64_t from) {
    const std::size_t item = dtype_size_bytes(in_.dtype);
    const bool is_same = in_.dtype == kDtypeOf<T>;
    std::byte* next = is_same ? reinterpret_cast<std::byte*>(values_.data()) : narrow_.data();
    for_each_merged_row<2>(axes_.folded, [&](const auto& at, const Row<2>& row) {
      const auto count = static_cast<std::size_t>(row.count);
      gather(item, place(in_, from + at[1]), row.strides[1], next, count);
      next += count * item;
    });
    if (is_same) return;
    cast_elements(in_.dtype, narrow_.data(), kDtypeOf<T>, values_.data(), values_.size());
  }

  const Operand& in_;
  const Operand& out_;
  Apart axes_;
  std::vector<T> values_;
  std::vector<std::byte> narrow_;
};

template <typename T>
void arg_reduce_as(ReduceOp op, const Operand& in, std::size_t axis, const Operand& out) {
  const FoldLoop fold = fold_loop(op, kDtypeOf<T>);
  Lines<T>(in, {axis}, out).for_each([&](const std::vector<T>& values, std::byte* to) {
    *reinterpret_cast<std::uint32_t*>(to) = best_of(fold, values);
  });
}

// Turns values into exponentials of their distance from the highest, which is returned: NaN where
// one of them is.
template <typename T>
T to_exponentials(std::vector<T>& values, T& total) {
  T highest = values[0];
  fold_loop(ReduceOp::maximum, kDtypeOf<T>)(values.data(), &highest, values.size());
  for (T& value : values) value = std::exp(value - highest);
  total = T{0};
  fold_loop(ReduceOp::sum, kDtypeOf<T>)(values.data(), &total, values.size());
  return highest;
}

template <typename T>
void softmax_as(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out) {
  Lines<T> lines(in, axes, out);
  lines.for_each([&](std::vector<T>& values, std::byte* to) {
    T total{};
    to_exponentials(values, total);
    for (T& value : values) value /= total;
    lines.store(values, to);
  });
}

template <typename T>
void log_sum_exp_as(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out) {
  Lines<T>(in, axes, out).for_each([&](std::vector<T>& values, std::byte* to) {
    T total{};
    const T highest = to_exponentials(values, total);
    const T result = std::isinf(highest) ? highest : highest + std::log(total);
    cast_elements(kDtypeOf<T>, &result, out.dtype, to, 1);
  });
}

}  // namespace

void run_reduce(ReduceOp op, const Operand& in, const std::vector<std::size_t>& axes,
                const Operand& out) {
  if (in.size == 0) {
    fill_neutral(op, out);
    return;
  }
  const Apart apart = split_axes(in, axes, out);
  Reduction(op, in, out, apart).run();
}

void run_arg_reduce(ReduceOp op, const Operand& in, std::size_t axis, const Operand& out) {
  switch (in.dtype) {
    case Dtype::float64:
      return arg_reduce_as<double>(op, in, axis, out);
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::float32:
      return arg_reduce_as<float>(op, in, axis, out);
    default:
      return arg_reduce_as<std::int64_t>(op, in, axis, out);
  }
}

void run_softmax(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out) {
  in.dtype == Dtype::float64 ? softmax_as<double>(in, axes, out) : softmax_as<float>(in, axes, out);
}

void run_log_sum_exp(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out) {
  in.dtype == Dtype::float64 ? log_sum_exp_as<double>(in, axes, out)
                             : log_sum_exp_as<float>(in, axes, out);
}

}  // namespace strandline::array
