// SPDX-License-Identifier: Apache-2.0
// Graphs in the book of captures: their nodes, conditionals, launches of one inside another, life.
#include <utility>

#include "device/capture_book.h"
#include "device/checks.h"

namespace strandline::device {

namespace {

void mark_launched(Graph& graph) {
  graph.launched = true;
  for (GraphNode& node : graph.nodes) {
    for (const std::shared_ptr<Graph>& body : node.bodies) mark_launched(*body);
  }
}

bool is_being_captured(const Graph& graph) {
  if (graph.captures > 0) return true;
  for (const GraphNode& node : graph.nodes) {
    for (const std::shared_ptr<Graph>& body : node.bodies) {
      if (is_being_captured(*body)) return true;
    }
  }
  return false;
}

}  // namespace

std::shared_ptr<Graph> CaptureBook::new_graph(bool is_body) {
  auto graph = std::make_shared<Graph>();
  graph->id = GraphId{++last_graph_};
  graph->is_body = is_body;
  graphs_.emplace(graph->id, graph);
  return graph;
}

std::shared_ptr<Graph> CaptureBook::find(GraphId graph) const {
  const auto found = graphs_.find(graph);
  return found == graphs_.end() ? nullptr : found->second;
}

std::shared_ptr<Graph> CaptureBook::for_launch(GraphId graph) {
  std::shared_ptr<Graph> found = find(graph);
  if (found == nullptr || found->is_body || is_being_captured(*found)) {
    throw_invalid("Capture::launch", "graph", fmt::format("graph {}", graph.value),
                  "a living graph whose capture has ended");
  }
  mark_launched(*found);
  return found;
}

Conditional CaptureBook::add_conditional(StreamId stream, const ConditionalOptions& options) {
  Operation operation = marker_operation(Call::add_conditional);
  operation.work.accesses = {{options.value, AccessMode::read}};
  GraphNode& node = add_node(stream, std::move(operation));
  node.condition = options;
  Conditional conditional{.node = node.id, .bodies = {}};
  for (std::uint32_t i = 0; i < options.body_count; ++i) {
    node.bodies.push_back(new_graph(true));
    conditional.bodies.push_back(node.bodies.back()->id);
  }
  return conditional;
}

void CaptureBook::add_launch(StreamId stream, GraphId graph) {
  std::shared_ptr<Graph> launched = for_launch(graph);
  add_node(stream, marker_operation(Call::launch)).bodies.push_back(std::move(launched));
}

std::vector<NodeId> CaptureBook::dependencies(NodeId node) const {
  const auto found = graph_of_.find(node);
  const std::shared_ptr<Graph> graph = found == graph_of_.end() ? nullptr : found->second.lock();
  if (graph == nullptr) {
    throw_invalid("Capture::dependencies", "node", fmt::format("node {}", node.value),
                  "a node of a living graph");
  }
  return graph->nodes[graph->index.at(node)].dependencies;
}

FreeStatus CaptureBook::destroy(GraphId graph) noexcept {
  const std::shared_ptr<Graph> found = find(graph);
  if (found == nullptr) return FreeStatus::unknown;
  if (found->is_body || is_being_captured(*found)) return FreeStatus::refused;
  forget_graph(found);
  return FreeStatus::freed;
}

void CaptureBook::forget_graph(const std::shared_ptr<Graph>& graph) noexcept {
  for (const GraphNode& node : graph->nodes) {
    graph_of_.erase(node.id);
    for (const std::shared_ptr<Graph>& body : node.bodies) {
      if (body->is_body) forget_graph(body);
    }
  }
  graphs_.erase(graph->id);
}

void CaptureBook::drop_nodes(Graph& graph, std::size_t first) noexcept {
  while (graph.nodes.size() > first) {
    const GraphNode& node = graph.nodes.back();
    graph_of_.erase(node.id);
    graph.index.erase(node.id);
    for (const std::shared_ptr<Graph>& body : node.bodies) {
      if (body->is_body) forget_graph(body);
    }
    graph.nodes.pop_back();
  }
}

}  // namespace strandline::device
