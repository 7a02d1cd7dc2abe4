// SPDX-License-Identifier: Apache-2.0
// The two passes over a graph that come before running it; described in strandline/array/eval.h.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "strandline/array/descriptor.h"
#include "strandline/array/graph_lock.h"

namespace strandline::array {

enum class Blocking : std::uint8_t { yes, no };

struct Plan {
  /// Uses of each call that is not yet evaluated, and of each leaf or evaluated array, that were
  /// met on the way; siblings share their call's.
  std::unordered_map<const void*, std::uint32_t> consumers;
  /// Calls whose outputs are used on another stream.
  std::unordered_set<const Call*> crossing;
  /// One output of each call that has to run; the last comes first.
  std::vector<Array> tape;
};

/// Throws InvalidArgument as eval and async_eval do; nothing has been changed then, but that
/// evaluated arrays were detached.
Plan make_plan(const std::vector<Array>& outputs, Blocking blocking, std::uint32_t max_width)
    STRANDLINE_REQUIRES(graph_lock());
/// Throws InvalidArgument, naming `function`, for an array that has no values and no operation.
void check_can_run(const Descriptor& node, const char* function) STRANDLINE_REQUIRES(graph_lock());
std::vector<Array> outputs_of_unlocked(const Array& array) STRANDLINE_REQUIRES(graph_lock());
/// Takes an array and its siblings out of the graph. Null when it was in none.
std::shared_ptr<Call> take_call(const Array& array) noexcept STRANDLINE_REQUIRES(graph_lock());
/// What `Plan::consumers` knows an array by.
const void* plan_key(const Array& array) noexcept;

}  // namespace strandline::array
