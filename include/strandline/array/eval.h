// SPDX-License-Identifier: Apache-2.0
// Evaluation: what has to run, in which order, and running it.
//
//   1. Depth first from the outputs: how many consumers each call has (siblings share the count).
//   2. Breadth first from the outputs: a call enters the tape when its last consumer is seen. Past
//      a width (20, or MLX_BFS_MAX_WIDTH) it goes depth first, to keep few arrays alive.
//   3. From the back of the tape: each call is encoded and queued on its stream, then leaves the
//      graph, so that what only it needed is freed or donated to what comes next.
//
// After each call the evaluating thread waits when too much is queued (see EvalLimits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strandline/array/array.h"
#include "strandline/core/export.h"

namespace strandline::array {

/// Queues what it takes and blocks until all values are there. Arrays that are queued already are
/// waited for. When a primitive throws, what was queued before it stays good, the rest stays
/// unscheduled, and its exception is thrown.
STRANDLINE_API void eval(const std::vector<Array>& outputs);
/// The same without blocking. InvalidArgument inside a transform. Work runs also when its arrays
/// are dropped: on a device that runs only while somebody waits, at the latest when its last handle
/// goes, and then nobody is told its errors.
STRANDLINE_API void async_eval(const std::vector<Array>& outputs);

/// What eval would do.
struct EvalPlan {
  struct Step {
    Array array;                  ///< one output of the call
    std::string_view operation;   ///< of its primitive
    std::uint32_t consumers = 0;  ///< uses of the call's outputs in this graph
  };
  std::vector<Step> steps;  ///< in the order they run
};
/// Detaches arrays that have been evaluated, as eval does; runs nothing.
STRANDLINE_API EvalPlan plan_evaluation(const std::vector<Array>& outputs);
/// Uses of `array`, or its siblings, as inputs in the graph of `outputs`, they themselves included.
STRANDLINE_API std::uint32_t consumers_of(const Array& array, const std::vector<Array>& outputs);

struct EvalLimits {
  std::uint32_t max_width = 20;          ///< of the tape before it goes depth first
  std::uint32_t max_queued_tasks = 100;  ///< of a device, before the evaluating thread waits
};
STRANDLINE_API EvalLimits eval_limits() noexcept;
/// Returns the ones before. InvalidArgument for 0.
STRANDLINE_API EvalLimits set_eval_limits(const EvalLimits& limits);

}  // namespace strandline::array
