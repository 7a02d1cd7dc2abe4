// SPDX-License-Identifier: Apache-2.0
// Reductions. Where the elements that are folded together are adjacent, they are folded in lanes;
// where adjacent elements go to different results, a whole row of results is folded at once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/kernels/chunk.h"
#include "array/kernels/kernels.h"

namespace strandline::array {
namespace {

/// The axes of a reduction, apart: those that stay, with the strides of `in` and `out`, and those
/// that are folded.
struct Apart {
  Merged<2> kept;
  Merged<1> folded;
};

Apart split_axes(const Operand& in, const std::vector<std::size_t>& axes, const Operand& out) {
  Shape kept_shape;
  Shape folded_shape;
  Strides kept_in;
  Strides folded_in;
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    const bool is_folded = std::find(axes.begin(), axes.end(), i) != axes.end();
    (is_folded ? folded_shape : kept_shape).push_back(in.shape[i]);
    (is_folded ? folded_in : kept_in).push_back(in.strides[i]);
  }
  return {.kept = merge_axes<2>(kept_shape, {kept_in, out.strides}),
          .folded = merge_axes<1>(folded_shape, {folded_in}, RowOrder::any)};
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
    const bool folds_adjacent = axes_.folded.strides[0][folded_axes - 1] == 1;
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
    for_each_merged_row<1>(axes_.folded, [&](const auto& at, const Row<1>& row) {
      Chunk chunk;
      for (std::int64_t first = 0; first < row.count; first += kChunkStep) {
        const auto part = static_cast<std::size_t>(std::min(kChunkStep, row.count - first));
        const std::int64_t start = from + at[0] + first * row.strides[0];
        fold_(load(chunk, start, row.strides[0], part), total, part);
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
      for_each_merged_row<1>(axes_.folded, [&](const auto& at, const Row<1>& row) {
        Chunk chunk;
        for (std::int64_t i = 0; i < row.count; ++i) {
          const std::int64_t start = from + at[0] + i * row.strides[0] + first;
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

// -- along one axis -------------------------------------------------------------------------------

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

/// Calls `visit(row number, values)` for each line along `axis`, its elements as T.
template <typename T, typename Visit>
void for_each_line(const Operand& in, std::size_t axis, Visit&& visit) {
  Shape shape = in.shape;
  Strides strides = in.strides;
  const auto length = static_cast<std::size_t>(shape[axis]);
  const std::int64_t stride = strides[axis];
  shape.erase(axis);
  strides.erase(axis);
  const std::size_t item = dtype_size_bytes(in.dtype);
  std::vector<T> values(length);
  std::vector<std::byte> narrow(length * item);
  std::int64_t line = 0;
  for_each_row<1>(shape, {strides}, [&](const auto& at, const Row<1>& row) {
    for (std::int64_t i = 0; i < row.count; ++i) {
      const std::byte* from =
          in.at + (at[0] + i * row.strides[0]) * static_cast<std::int64_t>(item);
      gather(item, from, stride, narrow.data(), length);
      cast_elements(in.dtype, narrow.data(), kDtypeOf<T>, values.data(), length);
      visit(line++, values);
    }
  });
}

template <typename T>
void arg_reduce_as(ReduceOp op, const Operand& in, std::size_t axis, const Operand& out) {
  auto* to = reinterpret_cast<std::uint32_t*>(out.at);
  const FoldLoop fold = fold_loop(op, kDtypeOf<T>);
  for_each_line<T>(in, axis, [&](std::int64_t line, const std::vector<T>& values) {
    to[line] = best_of(fold, values);
  });
}

template <typename T>
T exponentials(std::vector<T>& values, T& highest) {
  highest = *std::max_element(values.begin(), values.end());
  for (const T value : values) {
    if (value != value) highest = value;
  }
  T total{0};
  for (T& value : values) {
    value = std::exp(value - highest);
    total += value;
  }
  return total;
}

template <typename T>
void softmax_as(const Operand& in, const Operand& out) {
  const std::size_t item = dtype_size_bytes(out.dtype);
  std::vector<T> results;
  for_each_line<T>(in, in.shape.size() - 1, [&](std::int64_t line, const std::vector<T>& values) {
    T highest{};
    results = values;
    const T total = exponentials(results, highest);
    for (T& value : results) value /= total;
    std::byte* const to = out.at + static_cast<std::size_t>(line) * results.size() * item;
    cast_elements(kDtypeOf<T>, results.data(), out.dtype, to, results.size());
  });
}

template <typename T>
void log_sum_exp_as(const Operand& in, const Operand& out) {
  const std::size_t item = dtype_size_bytes(out.dtype);
  std::vector<T> results;
  for_each_line<T>(in, in.shape.size() - 1, [&](std::int64_t line, const std::vector<T>& values) {
    T highest{};
    results = values;
    const T total = exponentials(results, highest);
    const T result = std::isinf(highest) ? highest : highest + std::log(total);
    cast_elements(kDtypeOf<T>, &result, out.dtype, out.at + static_cast<std::size_t>(line) * item,
                  1);
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

void run_softmax(const Operand& in, const Operand& out) {
  in.dtype == Dtype::float64 ? softmax_as<double>(in, out) : softmax_as<float>(in, out);
}

void run_log_sum_exp(const Operand& in, const Operand& out) {
  in.dtype == Dtype::float64 ? log_sum_exp_as<double>(in, out) : log_sum_exp_as<float>(in, out);
}

}  // namespace strandline::array
