// SPDX-License-Identifier: Apache-2.0
#include "array/plan.h"

#include <tuple>
#include <utility>

#include "array/device_state.h"
#include "strandline/array/eval.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

// The inputs of a node of the walk: those of an array's call, or the outputs that were asked for.
const std::vector<Array>& inputs_of(const Array* array, const std::vector<Array>& outputs) {
  static const std::vector<Array> none;
  if (array == nullptr) return outputs;
  const std::shared_ptr<Call>& call = array->descriptor().call;
  return call == nullptr ? none : call->inputs;
}

void check_may_run(const Array& array, Blocking blocking) STRANDLINE_REQUIRES(graph_lock()) {
  if (blocking == Blocking::no && is_followed(array)) {
    throw InvalidArgument(error_message("async_eval", "array", "one that a transform follows",
                                        "arrays outside of transforms"));
  }
  check_can_run(array.descriptor(), blocking == Blocking::yes ? "eval" : "async_eval");
}

using Calls = std::vector<std::shared_ptr<Call>>;

// Depth first: consumers, edges between streams, and evaluated arrays leave the graph. Returns the
// calls of those, whose end may run code of others: not before the walk is over.
Calls count_consumers(Plan& plan, const std::vector<Array>& outputs, Blocking blocking)
    STRANDLINE_REQUIRES(graph_lock()) {
  Calls left;
  std::vector<std::pair<const Array*, std::size_t>> open = {{nullptr, 0}};
  while (!open.empty()) {
    auto& [array, next] = open.back();
    const std::vector<Array>& inputs = inputs_of(array, outputs);
    if (next < inputs.size()) {
      const Array& input = inputs[next++];
      if (input.status() == Status::unscheduled) {
        check_may_run(input, blocking);
        const Call* call = input.descriptor().call.get();
        if (array != nullptr &&
            !(array->descriptor().call->primitive->stream() == call->primitive->stream())) {
          plan.crossing.insert(call);
        }
      }
      if (++plan.consumers[plan_key(input)] == 1) open.emplace_back(&input, 0);
      continue;
    }
    const Array* done = array;
    open.pop_back();
    if (done != nullptr && done->status() != Status::unscheduled && !is_followed(*done)) {
      if (std::shared_ptr<Call> call = take_call(*done)) left.push_back(std::move(call));
    }
  }
  return left;
}

// Breadth first up to the width, then depth first.
void lay_tape(Plan& plan, const std::vector<Array>& outputs, std::uint32_t max_width) {
  std::unordered_map<const void*, std::uint32_t> left = plan.consumers;
  std::vector<std::pair<const Array*, std::size_t>> deep = {};
  std::vector<const Array*> order = {nullptr};
  for (std::size_t i = 0; i < order.size() || !deep.empty();) {
    const Array* array = nullptr;
    std::size_t next = 0;
    if (i < order.size()) {
      array = order[i++];
    } else {
      std::tie(array, next) = deep.back();
      deep.pop_back();
    }
    const std::vector<Array>& inputs = inputs_of(array, outputs);
    for (; next < inputs.size(); ++next) {
      const Array& input = inputs[next];
      if (input.status() != Status::unscheduled) continue;
      if (order.size() - i >= max_width) {
        deep.emplace_back(array, next);
        break;
      }
      if (--left[plan_key(input)] == 0) order.push_back(&input);
    }
  }
  plan.tape.reserve(order.size() - 1);
  for (std::size_t i = 1; i < order.size(); ++i) plan.tape.push_back(*order[i]);
}

}  // namespace

void check_can_run(const Descriptor& node, const char* function) {
  if (node.call != nullptr) {
    node.call->primitive->stream().state()->check_open(function);
    return;
  }
  if (node.is_tracer) {
    throw InvalidArgument(error_message(function, "array",
                                        "a placeholder of a function that is being traced",
                                        "an array with values or an operation"));
  }
  throw InvalidArgument(error_message(function, "array",
                                      "one without values whose operation failed or is gone",
                                      "an array with values or an operation"));
}

const void* plan_key(const Array& array) noexcept {
  const Descriptor& node = array.descriptor();
  return node.call != nullptr ? static_cast<const void*>(node.call.get()) : &node;
}

Plan make_plan(const std::vector<Array>& outputs, Blocking blocking, std::uint32_t max_width) {
  Plan plan;
  const Calls left = count_consumers(plan, outputs, blocking);
  lay_tape(plan, outputs, max_width);
  return plan;
}

}  // namespace strandline::array
