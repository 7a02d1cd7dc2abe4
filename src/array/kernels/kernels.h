// SPDX-License-Identifier: Apache-2.0
// Kernels over strided operands of any dtype. They run as work of a stream: they allocate no
// device memory, wait for nothing, and throw only what is said.
#pragma once

#include <cstdint>
#include <vector>

#include "array/axis_set.h"
#include "array/kernels/loops.h"
#include "strandline/array/primitive.h"

namespace strandline::array {

/// All operands have the shape of `out`, which may lie where an operand of its layout does.
void run_unary(UnaryOp op, const Operand& in, const Operand& out);
void run_binary(BinaryOp op, const Operand& a, const Operand& b, const Operand& out);
/// out = condition ? a : b; condition is bool, the others have one dtype.
void run_select(const Operand& condition, const Operand& a, const Operand& b, const Operand& out);
/// Copies, and converts where the dtypes differ.
void run_copy(const Operand& in, const Operand& out);
/// out += in.
void run_add_to(const Operand& in, const Operand& out);

/// `axes` of `in` are folded; `out` has the others.
void run_reduce(ReduceOp op, const Operand& in, AxisSet axes, const Operand& out);
/// Index of the first largest, or smallest, along an axis; a NaN counts as such. `out` is uint32.
void run_arg_reduce(ReduceOp op, const Operand& in, std::size_t axis, const Operand& out);
/// Of floats, over `axes`, which hold elements: `out` has all axes of `in`, or those that stay. A
/// softmax may be written where it is read.
void run_softmax(const Operand& in, AxisSet axes, const Operand& out);
void run_log_sum_exp(const Operand& in, AxisSet axes, const Operand& out);

/// `dense` is indexed along `axes`, by one of `indices` each, all of one shape; `picked` has that
/// shape first, then the other axes of `dense`. `function` is named where an index is outside.
struct Picks {
  const char* function = "";
  std::vector<std::size_t> axes;
  Operand dense{};
  Operand picked{};
  std::vector<Operand> indices{};
};
/// picked = dense[indices]. OutOfRange for an index outside its axis.
void run_gather(const Picks& picks);
/// dense[indices] += picked, one after another where indices repeat. OutOfRange likewise.
void run_scatter_add(const Picks& picks);

/// (…, m, k) × (…, k, n) → (…, m, n), row-major, one dtype; leading axes equal. `scratch` holds
/// matmul_scratch_bytes.
void run_matmul(const Operand& a, const Operand& b, const Operand& out, std::byte* scratch);
std::uint64_t matmul_scratch_bytes(const Operand& a, const Operand& b, const Operand& out);
/// What multiplies float matrices: "OpenBLAS …" or "plain loops".
std::string matmul_backend();

/// The part of an operand that starts at an index and takes every step-th element.
Operand part_of(const Operand& whole, const Shape& start, const Shape& step, const Shape& shape);
/// Row `at` of the first axis, without that axis.
Operand row_of(const Operand& whole, std::int64_t at);

}  // namespace strandline::array
