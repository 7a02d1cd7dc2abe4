// SPDX-License-Identifier: Apache-2.0
// Launches: the nodes of a graph as tasks with the dependencies that were captured, and conditional
// bodies, whose tasks are added when the condition is read.
#include <utility>

#include "device/run_graph.h"
#include "device/sim/core.h"

namespace strandline::sim {

using device::Call;
using device::Graph;
using device::GraphNode;

void Core::add_graph(SimStream& stream, const std::shared_ptr<Graph>& graph) {
  const TaskPtr begin = add(stream, device::marker_operation(Call::launch));
  const std::vector<TaskPtr> nodes = add_nodes(stream, graph, begin);
  add(stream, device::marker_operation(Call::launch), nodes);
}

std::vector<TaskPtr> Core::add_nodes(SimStream& stream, const std::shared_ptr<Graph>& graph,
                                     const TaskPtr& begin) {
  std::vector<TaskPtr> tasks;
  Nodes by_node;
  for (const GraphNode& node : graph->nodes) {
    std::vector<TaskPtr> before;
    for (const device::NodeId dependency : node.dependencies) {
      before.push_back(by_node.at(dependency));
    }
    if (before.empty() && begin != nullptr) before.push_back(begin);
    tasks.push_back(add_node(stream, graph, node, before));
    by_node.emplace(node.id, tasks.back());
  }
  return tasks;
}

TaskPtr Core::add_node(SimStream& stream, const std::shared_ptr<Graph>& graph,
                       const GraphNode& node, const std::vector<TaskPtr>& before) {
  TaskPtr task = make_task(stream, node.operation, before);
  if (node.condition) {
    TaskPtr end = make_task(stream, device::marker_operation(Call::add_conditional), {task});
    task->expand = [this, graph, &node, end = std::weak_ptr<Task>(end)](Task& self)
                       STRANDLINE_NO_LOCK_ANALYSIS { expand_conditional(graph, node, self, end); };
    return end;
  }
  if (node.bodies.empty()) return task;
  // A graph launched inside another: `task` is where it begins.
  std::vector<TaskPtr> inner = add_nodes(stream, node.bodies.front(), task);
  inner.push_back(task);
  return make_task(stream, device::marker_operation(Call::launch), inner);
}

void Core::expand_conditional(const std::shared_ptr<Graph>& graph, const GraphNode& node,
                              Task& task, const std::weak_ptr<Task>& end) {
  const std::optional<std::size_t> body = device::chosen_body(*node.condition);
  const TaskPtr finish_task = end.lock();
  if (!body || finish_task == nullptr) return;
  SimStream& stream = streams.at(task.stream);
  const std::uint64_t first_new = last_task_ + 1;
  std::vector<TaskPtr> tasks = add_nodes(stream, node.bodies[*body], nullptr);
  if (node.condition->kind == device::ConditionKind::while_) {
    TaskPtr again = make_task(stream, node.operation, tasks);
    again->expand = [this, graph, &node, end](Task& self)
                        STRANDLINE_NO_LOCK_ANALYSIS { expand_conditional(graph, node, self, end); };
    tasks = {again};
  }
  for (const TaskPtr& last : tasks) depend(finish_task, last);
  for (auto added = pending_.lower_bound(first_new); added != pending_.end(); ++added) {
    added->second->needed = added->second->needed || task.needed;
    mark_submitted(added->second);
  }
}

}  // namespace strandline::sim
