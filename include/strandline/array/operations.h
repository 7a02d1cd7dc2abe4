// SPDX-License-Identifier: Apache-2.0
// Operations on arrays. Each builds nodes on this thread's current stream and returns at once;
// nothing is computed before eval. Operands broadcast (shape.h) and are promoted (dtype.h).
//
// Axes: negative ones count from the end. Errors: InvalidArgument for shapes, axes and dtypes that
// do not fit, when the node is made. What depends on values (an index outside an axis) is an error
// of the work: OutOfRange at the wait.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strandline/array/array.h"
#include "strandline/core/export.h"

namespace strandline::array {

// -- making ---------------------------------------------------------------------------------------

STRANDLINE_API Array full(const Shape& shape, const Array& value);
STRANDLINE_API Array full(const Shape& shape, const Array& value, Dtype dtype);
STRANDLINE_API Array zeros(const Shape& shape, Dtype dtype = Dtype::float32);
STRANDLINE_API Array ones(const Shape& shape, Dtype dtype = Dtype::float32);
STRANDLINE_API Array zeros_like(const Array& a);
STRANDLINE_API Array ones_like(const Array& a);
/// start, start + step, … before stop. Of an integer dtype, start and step are cut to it first, as
/// in MLX and NumPy. InvalidArgument for a step of 0, for what is not finite, for bool, and where
/// an element is none of the integer dtype.
STRANDLINE_API Array arange(double start, double stop, double step, Dtype dtype);
/// The same of integers, exact over all of 64 bits.
STRANDLINE_API Array arange_of_integers(std::int64_t start, std::int64_t stop, std::int64_t step,
                                        Dtype dtype);
template <std::signed_integral Start, std::signed_integral Stop, std::signed_integral Step>
Array arange(Start start, Stop stop, Step step, Dtype dtype) {
  return arange_of_integers(start, stop, step, dtype);
}
/// Ones where column = row + diagonal.
STRANDLINE_API Array eye(std::int64_t rows, std::int64_t columns, int diagonal = 0,
                         Dtype dtype = Dtype::float32);
/// A scalar of `dtype`.
STRANDLINE_API Array scalar(double value, Dtype dtype);

// -- elementwise ----------------------------------------------------------------------------------

/// Floats become integers by dropping their fraction; those that do not fit saturate, and NaN
/// becomes 0, on every machine (NumPy and MLX leave both to the processor). Integers wrap.
STRANDLINE_API Array astype(const Array& a, Dtype dtype);
STRANDLINE_API Array negative(const Array& a);
STRANDLINE_API Array abs(const Array& a);
/// NaN of NaN, as in NumPy (0 in MLX).
STRANDLINE_API Array sign(const Array& a);
STRANDLINE_API Array square(const Array& a);
STRANDLINE_API Array logical_not(const Array& a);
// Of real numbers: integers become float32 first.
STRANDLINE_API Array exp(const Array& a);
STRANDLINE_API Array log(const Array& a);
STRANDLINE_API Array sqrt(const Array& a);
STRANDLINE_API Array rsqrt(const Array& a);
STRANDLINE_API Array tanh(const Array& a);
STRANDLINE_API Array sigmoid(const Array& a);
STRANDLINE_API Array erf(const Array& a);
STRANDLINE_API Array erfinv(const Array& a);
STRANDLINE_API Array sin(const Array& a);
STRANDLINE_API Array cos(const Array& a);
// Integers stay as they are.
STRANDLINE_API Array floor(const Array& a);
STRANDLINE_API Array ceil(const Array& a);
STRANDLINE_API Array round(const Array& a);

STRANDLINE_API Array add(const Array& a, const Array& b);
STRANDLINE_API Array subtract(const Array& a, const Array& b);
STRANDLINE_API Array multiply(const Array& a, const Array& b);
/// A real quotient: integers become float32.
STRANDLINE_API Array divide(const Array& a, const Array& b);
/// floor(a / b), of floats with the infinities that a / b has, as in MLX; of integers by 0 it is 0,
/// as in NumPy (MLX dies).
STRANDLINE_API Array floor_divide(const Array& a, const Array& b);
/// Of the sign of b, as Python's %; of integers by 0 it is 0.
STRANDLINE_API Array remainder(const Array& a, const Array& b);
/// Integers to negative powers are cut to integers: 1 and -1 stay, the rest is 0 (NumPy refuses).
STRANDLINE_API Array power(const Array& a, const Array& b);
STRANDLINE_API Array maximum(const Array& a, const Array& b);
STRANDLINE_API Array minimum(const Array& a, const Array& b);
STRANDLINE_API Array logaddexp(const Array& a, const Array& b);
STRANDLINE_API Array equal(const Array& a, const Array& b);
STRANDLINE_API Array not_equal(const Array& a, const Array& b);
STRANDLINE_API Array less(const Array& a, const Array& b);
STRANDLINE_API Array less_equal(const Array& a, const Array& b);
STRANDLINE_API Array greater(const Array& a, const Array& b);
STRANDLINE_API Array greater_equal(const Array& a, const Array& b);
STRANDLINE_API Array logical_and(const Array& a, const Array& b);
STRANDLINE_API Array logical_or(const Array& a, const Array& b);
STRANDLINE_API Array where(const Array& condition, const Array& a, const Array& b);
/// At least one bound is given.
STRANDLINE_API Array clip(const Array& a, const std::optional<Array>& low,
                          const std::optional<Array>& high);

inline Array operator+(const Array& a, const Array& b) {
  return add(a, b);
}
inline Array operator-(const Array& a, const Array& b) {
  return subtract(a, b);
}
inline Array operator*(const Array& a, const Array& b) {
  return multiply(a, b);
}
inline Array operator/(const Array& a, const Array& b) {
  return divide(a, b);
}
inline Array operator-(const Array& a) {
  return negative(a);
}

// -- products and reductions ----------------------------------------------------------------------

/// NumPy's matmul: the last two axes are matrices, the others broadcast; a vector is a row on the
/// left, a column on the right. Integers are multiplied as such.
STRANDLINE_API Array matmul(const Array& a, const Array& b);
/// What multiplies float matrices here: "OpenBLAS …", or "plain loops".
STRANDLINE_API std::string matmul_library();

using Axes = std::optional<std::vector<int>>;  ///< none: all axes
enum class KeepDims : bool { no, yes };

/// bool is counted in int32, uint8 in uint32.
STRANDLINE_API Array sum(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no);
STRANDLINE_API Array prod(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no);
STRANDLINE_API Array mean(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no);
/// Σ (a − mean)² / max(n − ddof, 0).
STRANDLINE_API Array var(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no,
                         int ddof = 0);
/// InvalidArgument over an axis without elements.
STRANDLINE_API Array max(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no);
STRANDLINE_API Array min(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no);
/// uint32; without an axis, of the array row by row.
STRANDLINE_API Array argmax(const Array& a, std::optional<int> axis = {},
                            KeepDims keep = KeepDims::no);
STRANDLINE_API Array argmin(const Array& a, std::optional<int> axis = {},
                            KeepDims keep = KeepDims::no);
/// log Σ exp(a), without overflow; the largest where that is infinite. InvalidArgument over an
/// axis without elements.
STRANDLINE_API Array logsumexp(const Array& a, const Axes& axes = {}, KeepDims keep = KeepDims::no);
/// exp(a) / Σ exp(a), without overflow; NaN where the largest is infinite.
STRANDLINE_API Array softmax(const Array& a, const Axes& axes = {});

// -- shapes: views wherever the memory allows -----------------------------------------------------

/// One extent may be -1. The same shape gives the same array.
STRANDLINE_API Array reshape(const Array& a, const Shape& shape);
/// Without axes, reversed.
STRANDLINE_API Array transpose(const Array& a, const std::optional<std::vector<int>>& axes = {});
STRANDLINE_API Array swapaxes(const Array& a, int first, int second);
STRANDLINE_API Array moveaxis(const Array& a, int from, int to);
STRANDLINE_API Array broadcast_to(const Array& a, const Shape& shape);
STRANDLINE_API std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays);
/// Axes of the result.
STRANDLINE_API Array expand_dims(const Array& a, const std::vector<int>& axes);
/// Without axes, all of extent 1.
STRANDLINE_API Array squeeze(const Array& a, const Axes& axes = {});
STRANDLINE_API Array flatten(const Array& a);
/// [start, stop) by step along each axis, already clipped to it; steps may be negative.
STRANDLINE_API Array slice(const Array& a, const Shape& start, const Shape& stop,
                           const Shape& step);
/// `count` equal parts.
STRANDLINE_API std::vector<Array> split(const Array& a, std::int64_t count, int axis = 0);
/// Parts from each index to the next: empty where the next lies before. Negative ones count from
/// the end.
STRANDLINE_API std::vector<Array> split(const Array& a, const std::vector<std::int64_t>& at,
                                        int axis = 0);
/// A view through which no gradient flows.
STRANDLINE_API Array stop_gradient(const Array& a);
/// Another node for the same values.
STRANDLINE_API Array copy(const Array& a);
/// The values on another device: the array itself where it lies there already. Runs where current
/// operations do, if that is a stream of the device, else on its default stream. Between devices of
/// different ports the evaluating thread waits for the values and copies them.
STRANDLINE_API Array to_device(const Array& a, const Device& device);
/// Row-major and without other users of its bytes than views.
STRANDLINE_API Array contiguous(const Array& a);

// -- moving elements ------------------------------------------------------------------------------

STRANDLINE_API Array concatenate(const std::vector<Array>& arrays, int axis = 0);
STRANDLINE_API Array stack(const std::vector<Array>& arrays, int axis = 0);
/// (before, after) of each axis.
STRANDLINE_API Array pad(const Array& a,
                         const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
                         const Array& value);
/// Elements at integer indices along an axis: the axis becomes the axes of `indices`. Without an
/// axis, of the array row by row. Negative indices count from the end; OutOfRange at the wait for
/// those outside, as for gather and scatter_add.
STRANDLINE_API Array take(const Array& a, const Array& indices, std::optional<int> axis = {});
/// One index array for each of `axes`, broadcast together; their shape comes first in the result,
/// then the other axes.
STRANDLINE_API Array gather(const Array& a, const std::vector<Array>& indices,
                            const std::vector<int>& axes);
/// a with `updates` (the shape that gather gives) added at the indices.
STRANDLINE_API Array scatter_add(const Array& a, const std::vector<Array>& indices,
                                 const Array& updates, const std::vector<int>& axes);

}  // namespace strandline::array
