// SPDX-License-Identifier: Apache-2.0
// Captures, their streams and events; the life of graphs is in graphs.cpp.
#include "device/capture_book.h"

#include <algorithm>
#include <utility>

#include "device/checks.h"

namespace strandline::device {

namespace {

std::string stream_text(StreamId stream) {
  return fmt::format("stream {}", stream.value);
}

void unite(std::vector<NodeId>& into, const std::vector<NodeId>& more) {
  for (const NodeId node : more) {
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
  }
}

}  // namespace

bool CaptureBook::is_capturing(StreamId stream) const {
  return members_.contains(stream);
}

CaptureId CaptureBook::begin(StreamId stream, GraphId graph, std::span<const NodeId> dependencies,
                             CaptureMode mode) {
  constexpr const char* kFunction = "Capture::begin";
  if (is_capturing(stream)) {
    throw_invalid(kFunction, "the stream captures already", stream_text(stream),
                  "a stream that does not capture");
  }
  std::shared_ptr<Graph> target = graph ? find(graph) : nullptr;
  if (graph && (target == nullptr || target->launched)) {
    throw_invalid(kFunction, "graph", fmt::format("graph {}", graph.value),
                  "a living graph that was never launched");
  }
  if (target != nullptr) check_nodes(kFunction, *target, dependencies);
  const bool owns_graph = target == nullptr;
  if (owns_graph) target = new_graph(false);
  const CaptureId id{++last_capture_};
  Running running{.id = id,
                  .mode = mode,
                  .thread = std::this_thread::get_id(),
                  .origin = stream,
                  .graph = target,
                  .first_node = target->nodes.size(),
                  .owns_graph = owns_graph,
                  .broken = false,
                  .streams = {stream}};
  captures_.emplace(id, std::move(running));
  members_[stream] = {id, {dependencies.begin(), dependencies.end()}};
  ++target->captures;
  return id;
}

GraphId CaptureBook::end(StreamId stream) {
  constexpr const char* kFunction = "Capture::end";
  const auto member = members_.find(stream);
  if (member == members_.end() || captures_.at(member->second.capture).origin != stream) {
    throw_invalid(kFunction, "the capture did not begin here", stream_text(stream),
                  "the stream that began it");
  }
  const Running& running = captures_.at(member->second.capture);
  if (running.mode != CaptureMode::relaxed && running.thread != std::this_thread::get_id()) {
    throw_device(kFunction, "wrong thread", "another thread", "the one that began the capture");
  }
  const bool broken = running.broken;
  const bool joined = all_joined(running, members_);
  const GraphId graph = running.graph->id;
  finish(running, broken || !joined);
  if (broken) {
    throw_device(kFunction, "the capture was broken by a forbidden call", stream_text(stream),
                 "a capture in which none was made");
  }
  if (!joined) {
    throw_device(kFunction, "unjoined work", "a stream whose terminals nothing waits for",
                 fmt::format("all streams joined to {}", stream_text(stream)));
  }
  return graph;
}

/// Makes all streams ordinary again. `running` is gone afterwards.
void CaptureBook::finish(const Running& running, bool failed) {
  const std::shared_ptr<Graph> graph = running.graph;
  const bool owns_graph = running.owns_graph;
  const std::size_t first_node = running.first_node;
  --graph->captures;
  for (const StreamId stream : running.streams) members_.erase(stream);
  captures_.erase(running.id);
  if (!failed) return;
  if (owns_graph) {
    forget_graph(graph);
  } else {
    drop_nodes(*graph, first_node);
  }
}

bool CaptureBook::all_joined(const Running& capture, const std::map<StreamId, Member>& members) {
  const std::set<NodeId> joined = ancestors(*capture.graph, members.at(capture.origin).terminals);
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](StreamId stream) {
    const Nodes& terminals = members.at(stream).terminals;
    return std::all_of(terminals.begin(), terminals.end(),
                       [&](NodeId node) { return joined.contains(node); });
  });
}

std::set<NodeId> CaptureBook::ancestors(const Graph& graph, const Nodes& nodes) {
  std::set<NodeId> seen;
  Nodes open = nodes;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    const Nodes& before = graph.nodes[graph.index.at(node)].dependencies;
    open.insert(open.end(), before.begin(), before.end());
  }
  return seen;
}

CaptureInfo CaptureBook::info(StreamId stream) const {
  const auto member = members_.find(stream);
  if (member == members_.end()) return {};
  const Running& running = captures_.at(member->second.capture);
  if (running.broken) return {CaptureStatus::broken, CaptureId{}, GraphId{}, {}};
  return {CaptureStatus::active, running.id, running.graph->id, member->second.terminals};
}

CaptureBook::Running& CaptureBook::active(const char* function, StreamId stream) {
  const auto member = members_.find(stream);
  if (member == members_.end()) {
    throw_invalid(function, "the stream does not capture", stream_text(stream),
                  "a capturing stream");
  }
  Running& running = captures_.at(member->second.capture);
  if (running.broken) {
    throw_device(function, "the capture is broken", stream_text(stream), "an active capture");
  }
  return running;
}

void CaptureBook::check_nodes(const char* function, const Graph& graph,
                              std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    if (!graph.index.contains(node)) {
      throw_invalid(function, "node", fmt::format("node {}", node.value),
                    fmt::format("a node of graph {}", graph.id.value));
    }
  }
}

void CaptureBook::set_terminals(StreamId stream, std::span<const NodeId> terminals) {
  constexpr const char* kFunction = "Capture::set_terminals";
  check_nodes(kFunction, *active(kFunction, stream).graph, terminals);
  Nodes replaced;
  unite(replaced, {terminals.begin(), terminals.end()});
  members_.at(stream).terminals = std::move(replaced);
}

GraphNode& CaptureBook::add_node(StreamId stream, Operation operation) {
  Graph& graph = *active("capture", stream).graph;
  Nodes& terminals = members_.at(stream).terminals;
  const NodeId id{++last_node_};
  graph.nodes.push_back({id, terminals, std::move(operation), std::nullopt, {}});
  graph.index.emplace(id, graph.nodes.size() - 1);
  graph_of_.emplace(id, graphs_.at(graph.id));
  terminals = {id};
  return graph.nodes.back();
}

NodeId CaptureBook::add(StreamId stream, Operation operation) {
  return add_node(stream, std::move(operation)).id;
}

void CaptureBook::record(DeviceEventId event, StreamId stream) {
  const Running& running = active("Streams::record", stream);
  points_[event] = {running.id, members_.at(stream).terminals};
}

void CaptureBook::wait_event(StreamId stream, DeviceEventId event, bool recorded) {
  constexpr const char* kFunction = "Streams::wait_event";
  const auto point = points_.find(event);
  const auto member = members_.find(stream);
  if (point == points_.end()) {
    Running& running = active(kFunction, stream);
    if (!recorded) return;
    running.broken = true;
    throw_device(kFunction, "captured work would depend on uncaptured work",
                 fmt::format("event {}", event.value), "an event recorded in the same capture");
  }
  const auto capture = captures_.find(point->second.capture);
  if (capture == captures_.end()) {
    throw_device(kFunction, "the event's capture has ended", fmt::format("event {}", event.value),
                 "an event recorded outside of it");
  }
  Running& running = capture->second;
  if (member != members_.end() && member->second.capture != running.id) {
    running.broken = captures_.at(member->second.capture).broken = true;
    throw_device(kFunction, "two captures would become one", stream_text(stream),
                 "a stream outside of other captures");
  }
  if (running.broken) {
    throw_device(kFunction, "the capture is broken", stream_text(stream), "an active capture");
  }
  running.streams.insert(stream);
  Member& joining = members_[stream];
  joining.capture = running.id;
  unite(joining.terminals, point->second.terminals);
}

bool CaptureBook::allow() noexcept {
  const CaptureMode thread = Capture::thread_mode();
  if (thread == CaptureMode::relaxed) return true;
  bool allowed = true;
  for (auto& [id, capture] : captures_) {
    const bool ours =
        capture.thread == std::this_thread::get_id() && capture.mode != CaptureMode::relaxed;
    const bool everyones = thread == CaptureMode::global && capture.mode == CaptureMode::global;
    if (!ours && !everyones) continue;
    capture.broken = true;
    allowed = false;
  }
  return allowed;
}

void CaptureBook::check_allowed(const char* function) {
  if (allow()) return;
  throw_device(function, "forbidden while a stream captures; the capture is broken",
               "a thread that is not relaxed", "Capture::exchange_thread_mode(relaxed) before");
}

void CaptureBook::check_host_may_ask(const char* function, StreamId stream) {
  const auto member = members_.find(stream);
  if (member != members_.end()) {
    captures_.at(member->second.capture).broken = true;
    throw_device(function, "the stream captures; the capture is broken", stream_text(stream),
                 "a stream that does not capture");
  }
  check_allowed(function);
}

void CaptureBook::check_host_may_ask(const char* function, DeviceEventId event) {
  const auto point = points_.find(event);
  if (point != points_.end()) {
    const auto capture = captures_.find(point->second.capture);
    if (capture != captures_.end()) capture->second.broken = true;
    throw_device(function, "the event's point is captured", fmt::format("event {}", event.value),
                 "an event recorded outside of captures");
  }
  check_allowed(function);
}

}  // namespace strandline::device
