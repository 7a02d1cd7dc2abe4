// SPDX-License-Identifier: Apache-2.0
// Products of row-major float matrices: by OpenBLAS where the system has it, else by plain loops.
// OpenBLAS is loaded with the first product, not with the library: it starts threads of its own,
// which a program that only records must not get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strandline::array {

/// A matrix of rows × columns; `is_transposed` says that element (i, j) lies at j * stride + i.
template <typename T>
struct Matrix {
  const T* at = nullptr;
  std::int64_t stride = 0;
  bool is_transposed = false;
};

/// to[m × n] = a[m × k] b[k × n]; rows of `to` are n apart.
void multiply(const Matrix<float>& a, const Matrix<float>& b, float* to, std::int64_t m,
              std::int64_t n, std::int64_t k);
void multiply(const Matrix<double>& a, const Matrix<double>& b, double* to, std::int64_t m,
              std::int64_t n, std::int64_t k);
std::string blas_name();

}  // namespace strandline::array
