// SPDX-License-Identifier: Apache-2.0
// Batches of matrix products. A matrix that is row-major or its transpose is multiplied where it
// lies; others, and half-width floats, are copied first, one at a time. Integers wrap.
#include <algorithm>

#include "array/iterate.h"
#include "array/kernels/blas.h"
#include "array/kernels/kernels.h"

namespace strandline::array {
namespace {

Dtype matmul_compute(Dtype dtype) noexcept {
  const Dtype compute = compute_dtype(dtype);
  return is_floating(compute) ? compute : Dtype::int64;
}

/// The last two axes.
struct Plane {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  explicit Plane(const Operand& operand) {
    const std::size_t rank = operand.shape.size();
    rows = operand.shape[rank - 2];
    columns = operand.shape[rank - 1];
    row_stride = operand.strides[rank - 2];
    column_stride = operand.strides[rank - 1];
  }
  std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(rows * columns); }
  bool is_row_major() const noexcept {
    return (column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1);
  }
  bool is_column_major() const noexcept {
    return (row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1);
  }
};

bool needs_copy(const Operand& operand, Dtype compute) {
  const Plane plane(operand);
  return operand.dtype != compute || !(plane.is_row_major() || plane.is_column_major());
}

Operand plane_of(const Operand& whole, std::int64_t at) {
  const Plane plane(whole);
  Operand one = whole;
  one.at += at * static_cast<std::int64_t>(dtype_size_bytes(whole.dtype));
  one.shape = {plane.rows, plane.columns};
  one.strides = {plane.row_stride, plane.column_stride};
  one.size = plane.size();
  return one;
}

template <typename T>
Matrix<T> matrix_of(const Operand& one, bool is_copied, std::byte* copy) {
  const Plane plane(one);
  if (is_copied) {
    Operand to = one;
    to.at = copy;
    to.dtype = kDtypeOf<T>;
    to.strides = row_major_strides(one.shape);
    run_copy(one, to);
    return {.at = reinterpret_cast<const T*>(copy),
            .stride = std::max<std::int64_t>(plane.columns, 1),
            .is_transposed = false};
  }
  const bool is_row_major = plane.is_row_major();
  const std::int64_t extent = is_row_major ? plane.columns : plane.rows;
  const std::int64_t stride = is_row_major ? plane.row_stride : plane.column_stride;
  const bool has_one_line = (is_row_major ? plane.rows : plane.columns) == 1;
  return {.at = reinterpret_cast<const T*>(one.at),
          .stride = has_one_line ? std::max<std::int64_t>(extent, 1) : stride,
          .is_transposed = !is_row_major};
}

void multiply(const Matrix<std::int64_t>& a, const Matrix<std::int64_t>& b, std::int64_t* to,
              std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto at = [](const Matrix<std::int64_t>& x, std::int64_t i, std::int64_t j) {
    return static_cast<std::uint64_t>(x.is_transposed ? x.at[j * x.stride + i]
                                                      : x.at[i * x.stride + j]);
  };
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t total = 0;
      for (std::int64_t p = 0; p < k; ++p) total += at(a, i, p) * at(b, p, j);
      to[i * n + j] = static_cast<std::int64_t>(total);
    }
  }
}

template <typename T>
void run_as(const Operand& a, const Operand& b, const Operand& out, std::byte* scratch) {
  const Plane left(a);
  const Plane right(b);
  const bool copies_a = needs_copy(a, kDtypeOf<T>);
  const bool copies_b = needs_copy(b, kDtypeOf<T>);
  const bool copies_out = out.dtype != kDtypeOf<T>;
  std::byte* const a_copy = scratch;
  std::byte* const b_copy = a_copy + (copies_a ? left.size() * sizeof(T) : 0);
  std::byte* const out_copy = b_copy + (copies_b ? right.size() * sizeof(T) : 0);
  Shape batch = out.shape;
  std::array<Strides, 3> strides = {a.strides, b.strides, out.strides};
  for (int i = 0; i < 2; ++i) {
    batch.erase(batch.size() - 1);
    for (Strides& each : strides) each.erase(each.size() - 1);
  }
  for_each_row<3>(batch, strides, [&](const auto& at, const Row<3>& row) {
    for (std::int64_t i = 0; i < row.count; ++i) {
      const auto plane_at = [&](const Operand& whole, std::size_t k) {
        return plane_of(whole, at[k] + i * row.strides[k]);
      };
      const Operand to = plane_at(out, 2);
      T* const product = reinterpret_cast<T*>(copies_out ? out_copy : to.at);
      multiply(matrix_of<T>(plane_at(a, 0), copies_a, a_copy),
               matrix_of<T>(plane_at(b, 1), copies_b, b_copy), product, left.rows, right.columns,
               left.columns);
      if (!copies_out) continue;
      Operand from = to;
      from.at = out_copy;
      from.dtype = kDtypeOf<T>;
      run_copy(from, to);
    }
  });
}

}  // namespace

std::uint64_t matmul_scratch_bytes(const Operand& a, const Operand& b, const Operand& out) {
  const Dtype compute = matmul_compute(out.dtype);
  std::uint64_t elements = 0;
  if (needs_copy(a, compute)) elements += Plane(a).size();
  if (needs_copy(b, compute)) elements += Plane(b).size();
  if (out.dtype != compute) elements += Plane(out).size();
  return elements * dtype_size_bytes(compute);
}

void run_matmul(const Operand& a, const Operand& b, const Operand& out, std::byte* scratch) {
  if (out.size == 0) return;
  if (Plane(a).columns == 0) {
    std::fill_n(out.at, out.size * dtype_size_bytes(out.dtype), std::byte{0});
    return;
  }
  switch (matmul_compute(out.dtype)) {
    case Dtype::float32:
      return run_as<float>(a, b, out, scratch);
    case Dtype::float64:
      return run_as<double>(a, b, out, scratch);
    default:
      return run_as<std::int64_t>(a, b, out, scratch);
  }
}

std::string matmul_backend() {
  return blas_name();
}

}  // namespace strandline::array
