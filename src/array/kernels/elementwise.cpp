// SPDX-License-Identifier: Apache-2.0
// Operands brought to the loops: what is adjacent and of the right type is used where it lies, the
// rest goes through chunks on the stack.
#include <algorithm>
#include <array>

#include "array/cast.h"
#include "array/iterate.h"
#include "array/kernels/chunk.h"
#include "array/kernels/kernels.h"

namespace strandline::array {
namespace {

/// `count` elements where they lie, or brought together.
const std::byte* adjacent(std::size_t item, const std::byte* from, std::int64_t stride,
                          Chunk& chunk, std::size_t count) {
  if (stride == 1) return from;
  gather(item, from, stride, chunk.bytes, count);
  return chunk.bytes;
}

/// One operand along one row.
class Stretch {
 public:
  Stretch(const Operand& operand, Dtype compute, std::int64_t at, std::int64_t stride)
      : item_(dtype_size_bytes(operand.dtype)),
        stride_(stride),
        at_(operand.at + at * static_cast<std::int64_t>(item_)),
        dtype_(operand.dtype),
        compute_(compute),
        is_direct_(stride == 1 && compute_dtype(operand.dtype) == compute &&
                   dtype_size_bytes(operand.dtype) == dtype_size_bytes(compute)) {}

  bool is_direct() const noexcept { return is_direct_; }

  /// Elements [first, first + count) as adjacent compute elements.
  const void* load(Chunk& chunk, std::size_t first, std::size_t count) {
    std::byte* const from = element(first);
    if (is_direct_) return from;
    if (stride_ == 0 && filled_ >= count) return chunk.bytes;
    if (dtype_size_bytes(compute_) == item_ && compute_dtype(dtype_) == compute_) {
      gather(item_, from, stride_, chunk.bytes, count);
    } else {
      Chunk narrow;
      const std::byte* const elements = adjacent(item_, from, stride_, narrow, count);
      cast_elements(dtype_, elements, compute_, chunk.bytes, count);
    }
    filled_ = count;
    return chunk.bytes;
  }
  void* target(Chunk& chunk, std::size_t first) {
    return is_direct_ ? static_cast<void*>(element(first)) : chunk.bytes;
  }
  void store(const Chunk& chunk, std::size_t first, std::size_t count) {
    if (is_direct_) return;
    if (dtype_size_bytes(compute_) == item_ && compute_dtype(dtype_) == compute_) {
      scatter(item_, chunk.bytes, element(first), stride_, count);
      return;
    }
    if (stride_ == 1) {
      cast_elements(compute_, chunk.bytes, dtype_, element(first), count);
      return;
    }
    Chunk narrow;
    cast_elements(compute_, chunk.bytes, dtype_, narrow.bytes, count);
    scatter(item_, narrow.bytes, element(first), stride_, count);
  }

 private:
  std::byte* element(std::size_t i) const {
    return at_ + static_cast<std::int64_t>(i) * stride_ * static_cast<std::int64_t>(item_);
  }

  std::size_t item_;
  std::int64_t stride_;
  std::byte* at_;
  Dtype dtype_;
  Dtype compute_;
  bool is_direct_;
  std::size_t filled_ = 0;  // of a repeated element
};

/// Calls `loop(inputs, output, count)` over all elements.
template <std::size_t N, typename Loop>
void for_each_chunk(const std::array<const Operand*, N>& inputs, Dtype compute_in,
                    const Operand& out, Dtype compute_out, Loop&& loop) {
  std::array<Strides, N + 1> strides;
  for (std::size_t k = 0; k < N; ++k) strides[k] = inputs[k]->strides;
  strides[N] = out.strides;
  std::array<Chunk, N + 1> chunks;
  for_each_row<N + 1>(
      out.shape, strides,
      [&](const auto& at, const Row<N + 1>& row) {
        const auto count = static_cast<std::size_t>(row.count);
        Stretch to(out, compute_out, at[N], row.strides[N]);
        bool is_direct = to.is_direct();
        const auto stretch_of = [&](std::size_t k) {
          return Stretch(*inputs[k], compute_in, at[k], row.strides[k]);
        };
        std::array<Stretch, N> from = [&]<std::size_t... K>(std::index_sequence<K...>) {
          return std::array<Stretch, N>{stretch_of(K)...};
        }
        (std::make_index_sequence<N>{});
        for (const Stretch& one : from) is_direct = is_direct && one.is_direct();
        const std::size_t step = is_direct ? count : kChunk;
        for (std::size_t first = 0; first < count; first += step) {
          const std::size_t part = std::min(step, count - first);
          std::array<const void*, N> pointers;
          for (std::size_t k = 0; k < N; ++k) pointers[k] = from[k].load(chunks[k], first, part);
          loop(pointers, to.target(chunks[N], first), part);
          to.store(chunks[N], first, part);
        }
      },
      RowOrder::any);
}

// By masks: a choice between two loads becomes a branch, which does not vectorise.
template <typename T>
void select_run(const void* condition, const void* a, const void* b, void* out, std::size_t count) {
  const auto* which = static_cast<const std::uint8_t*>(condition);
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  T* to = static_cast<T*>(out);
  STRANDLINE_VECTORISE
  for (std::size_t i = 0; i < count; ++i) {
    const T mask = static_cast<T>(T{0} - static_cast<T>(which[i] != 0));
    to[i] = static_cast<T>((left[i] & mask) | (right[i] & static_cast<T>(~mask)));
  }
}

void select_items(std::size_t item, const void* condition, const void* a, const void* b, void* out,
                  std::size_t count) {
  switch (item) {
    case 1:
      return select_run<std::uint8_t>(condition, a, b, out, count);
    case 2:
      return select_run<std::uint16_t>(condition, a, b, out, count);
    case 4:
      return select_run<std::uint32_t>(condition, a, b, out, count);
    default:
      return select_run<std::uint64_t>(condition, a, b, out, count);
  }
}

}  // namespace

void run_unary(UnaryOp op, const Operand& in, const Operand& out) {
  const Dtype compute = compute_dtype(in.dtype);
  const UnaryLoop loop = unary_loop(op, compute);
  for_each_chunk<1>(
      {&in}, compute, out, compute_dtype(out.dtype),
      [&](const auto& from, void* to, std::size_t count) { loop(from[0], to, count); });
}

void run_binary(BinaryOp op, const Operand& a, const Operand& b, const Operand& out) {
  const Dtype compute = compute_dtype(a.dtype);
  const BinaryLoop loop = binary_loop(op, compute);
  for_each_chunk<2>(
      {&a, &b}, compute, out, compute_dtype(out.dtype),
      [&](const auto& from, void* to, std::size_t count) { loop(from[0], from[1], to, count); });
}

void run_select(const Operand& condition, const Operand& a, const Operand& b, const Operand& out) {
  const std::size_t item = dtype_size_bytes(out.dtype);
  const auto bytes = static_cast<std::int64_t>(item);
  for_each_row<4>(
      out.shape, {condition.strides, a.strides, b.strides, out.strides},
      [&](const auto& at, const Row<4>& row) {
        Chunk which;
        Chunk left;
        Chunk right;
        Chunk to;
        for (std::int64_t first = 0; first < row.count; first += kChunkStep) {
          const auto part = static_cast<std::size_t>(std::min(kChunkStep, row.count - first));
          const auto offset = [&](std::size_t k) { return at[k] + first * row.strides[k]; };
          const auto* conditions =
              adjacent(1, condition.at + offset(0), row.strides[0], which, part);
          const auto* lefts = adjacent(item, a.at + offset(1) * bytes, row.strides[1], left, part);
          const auto* rights =
              adjacent(item, b.at + offset(2) * bytes, row.strides[2], right, part);
          std::byte* const target = out.at + offset(3) * bytes;
          const bool is_direct = row.strides[3] == 1;
          select_items(item, conditions, lefts, rights, is_direct ? target : to.bytes, part);
          if (!is_direct) scatter(item, to.bytes, target, row.strides[3], part);
        }
      },
      RowOrder::any);
}

void run_copy(const Operand& in, const Operand& out) {
  const auto from_bytes = static_cast<std::int64_t>(dtype_size_bytes(in.dtype));
  const auto to_bytes = static_cast<std::int64_t>(dtype_size_bytes(out.dtype));
  for_each_row<2>(
      out.shape, {in.strides, out.strides},
      [&](const auto& at, const Row<2>& row) {
        const std::byte* from = in.at + at[0] * from_bytes;
        std::byte* to = out.at + at[1] * to_bytes;
        const auto count = static_cast<std::size_t>(row.count);
        if (row.strides[1] == 1 && in.dtype == out.dtype) {
          gather(static_cast<std::size_t>(from_bytes), from, row.strides[0], to, count);
          return;
        }
        if (row.strides[1] == 1 && row.strides[0] == 1) {
          cast_elements(in.dtype, from, out.dtype, to, count);
          return;
        }
        Chunk narrow;
        Chunk converted;
        for (std::size_t first = 0; first < count; first += kChunk) {
          const std::size_t part = std::min(kChunk, count - first);
          const auto start = static_cast<std::int64_t>(first);
          const std::byte* const elements =
              adjacent(static_cast<std::size_t>(from_bytes),
                       from + start * row.strides[0] * from_bytes, row.strides[0], narrow, part);
          cast_elements(in.dtype, elements, out.dtype, converted.bytes, part);
          scatter(static_cast<std::size_t>(to_bytes), converted.bytes,
                  to + start * row.strides[1] * to_bytes, row.strides[1], part);
        }
      },
      RowOrder::any);
}

void run_add_to(const Operand& in, const Operand& out) {
  run_binary(out.dtype == Dtype::bool_ ? BinaryOp::logical_or : BinaryOp::add, out, in, out);
}

Operand part_of(const Operand& whole, const Shape& start, const Shape& step, const Shape& shape) {
  Operand part = whole;
  part.shape = shape;
  part.size = 1;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    offset += start[i] * whole.strides[i];
    part.strides[i] = whole.strides[i] * step[i];
    part.size *= static_cast<std::uint64_t>(shape[i]);
  }
  part.at += offset * static_cast<std::int64_t>(dtype_size_bytes(whole.dtype));
  part.is_row_contiguous = false;
  return part;
}

Operand row_of(const Operand& whole, std::int64_t at) {
  Operand row = whole;
  row.at += at * whole.strides[0] * static_cast<std::int64_t>(dtype_size_bytes(whole.dtype));
  row.size = whole.shape[0] == 0 ? 0 : whole.size / static_cast<std::uint64_t>(whole.shape[0]);
  row.shape.erase(0);
  row.strides.erase(0);
  return row;
}

}  // namespace strandline::array
