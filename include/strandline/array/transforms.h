// SPDX-License-Identifier: Apache-2.0
// Gradients, by going back through the graph that a function builds. Inside a transform, arrays
// made from its inputs keep their graph, also when they are evaluated.
//
// Nodes that a gradient makes carry two tracebacks: where the transform was called, and the line of
// the operation they belong to.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "strandline/array/array.h"
#include "strandline/core/export.h"

namespace strandline::array {

using ArraysFunction = std::function<std::vector<Array>(const std::vector<Array>&)>;

/// (function's results, Σ cotangent · ∂result/∂primal for each primal). InvalidArgument when a
/// cotangent has another shape than its result.
STRANDLINE_API std::pair<std::vector<Array>, std::vector<Array>> vjp(
    const ArraysFunction& function, const std::vector<Array>& primals,
    const std::vector<Array>& cotangents);

/// (results, gradients of the first result with respect to `arguments`, one each). The first result
/// must be a scalar of a float dtype, and so must the arguments be floats: InvalidArgument.
STRANDLINE_API std::pair<std::vector<Array>, std::vector<Array>> value_and_grad(
    const ArraysFunction& function, const std::vector<Array>& inputs,
    const std::vector<std::size_t>& arguments);

}  // namespace strandline::array
