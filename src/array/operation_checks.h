// SPDX-License-Identifier: Apache-2.0
// What operations ask of their arguments, in the name of the function that was called.
#pragma once

#include <string_view>
#include <vector>

#include "array/axis_set.h"
#include "strandline/array/array.h"
#include "strandline/core/error.h"

namespace strandline::array {

[[noreturn]] inline void throw_bad(std::string_view function, std::string_view what,
                                   std::string_view got, std::string_view expected) {
  throw InvalidArgument(error_message(function, what, got, expected));
}

/// InvalidArgument for more axes than a shape has.
void check_result_rank(const char* function, std::size_t rank);
/// 0 … rank-1, each once. InvalidArgument otherwise.
std::vector<std::size_t> checked_axes(const char* function, const std::vector<int>& axes,
                                      std::size_t rank);
/// Back again, as operations take them.
inline std::vector<int> as_ints(const std::vector<std::size_t>& axes) {
  return {axes.begin(), axes.end()};
}
inline std::vector<int> as_ints(AxisSet axes) {
  std::vector<int> result;
  for (std::size_t i = 0; i < kMaxRank; ++i) {
    if (axes.contains(i)) result.push_back(static_cast<int>(i));
  }
  return result;
}
/// broadcast_to; InvalidArgument says that `what` does not fit.
Array spread(const char* function, const char* what, const Array& a, const Shape& shape);
/// broadcast_arrays; InvalidArgument says so of `what`.
std::vector<Array> broadcast_for(const char* function, const char* what,
                                 const std::vector<Array>& arrays);
/// transpose by axes that have been checked.
Array transposed(const Array& a, std::vector<std::size_t> axes);

}  // namespace strandline::array
