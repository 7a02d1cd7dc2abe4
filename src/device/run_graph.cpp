// SPDX-License-Identifier: Apache-2.0
// Replay in the order of capture, with conditional bodies.
#include "device/run_graph.h"

#include <cstring>

namespace strandline::device {

std::optional<std::size_t> chosen_body(const ConditionalOptions& condition) {
  std::uint32_t value = 0;
  std::memcpy(&value, to_pointer(condition.value.address), sizeof value);
  if (condition.kind == ConditionKind::switch_) {
    return value < condition.body_count ? std::optional<std::size_t>(value) : std::nullopt;
  }
  return value != 0 ? std::optional<std::size_t>(0) : std::nullopt;
}

void run_in_order(const Graph& graph) {
  for (const GraphNode& node : graph.nodes) {
    if (node.condition) {
      std::optional<std::size_t> body = chosen_body(*node.condition);
      while (body) {
        run_in_order(*node.bodies[*body]);
        const bool again = node.condition->kind == ConditionKind::while_;
        body = again ? chosen_body(*node.condition) : std::nullopt;
      }
    } else if (!node.bodies.empty()) {
      run_in_order(*node.bodies.front());
    } else if (node.operation.work.body) {
      node.operation.work.body();
    }
  }
}

}  // namespace strandline::device
