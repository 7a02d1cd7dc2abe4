// SPDX-License-Identifier: Apache-2.0
// The book of captures and graphs of one backend: which stream captures, the nodes and their
// dependencies, forks and joins through device events, and what breaks a capture. Pure state: it
// runs nothing, and is not synchronised (the backend's lock covers it).
//
//   invariant: a node's dependencies stand before it in its graph, so the order of nodes is an
//              order in which they may run
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "device/operation.h"
#include "strandline/device/capture.h"
#include "strandline/device/types.h"

namespace strandline::device {

struct Graph;

struct GraphNode {
  NodeId id;
  std::vector<NodeId> dependencies;
  Operation operation;
  std::optional<ConditionalOptions> condition;  ///< then `bodies` are its bodies
  std::vector<std::shared_ptr<Graph>> bodies;   ///< or the one graph that the node launches
};

struct Graph {
  GraphId id;
  std::vector<GraphNode> nodes;
  std::map<NodeId, std::size_t> index;  ///< of a node in `nodes`
  bool is_body = false;
  bool launched = false;
  int captures = 0;  ///< that add to it now
};

class CaptureBook {
 public:
  [[nodiscard]] bool is_capturing(StreamId stream) const;
  CaptureId begin(StreamId stream, GraphId graph, std::span<const NodeId> dependencies,
                  CaptureMode mode);
  GraphId end(StreamId stream);
  [[nodiscard]] CaptureInfo info(StreamId stream) const;
  void set_terminals(StreamId stream, std::span<const NodeId> terminals);
  [[nodiscard]] std::vector<NodeId> dependencies(NodeId node) const;

  /// Adds a node behind the stream's terminals and makes it the terminal.
  NodeId add(StreamId stream, Operation operation);
  Conditional add_conditional(StreamId stream, const ConditionalOptions& options);
  void add_launch(StreamId stream, GraphId graph);

  /// Notes the terminals as the event's point.
  void record(DeviceEventId event, StreamId stream);
  /// The event's point is no captured one any more.
  void forget(DeviceEventId event) { points_.erase(event); }
  [[nodiscard]] bool is_captured(DeviceEventId event) const { return points_.contains(event); }
  /// Forks or joins. Only for a captured event, or on a capturing stream with an event of which
  /// `recorded` tells whether it has an uncaptured point.
  void wait_event(StreamId stream, DeviceEventId event, bool recorded);

  /// Throws DeviceError, and breaks the captures that forbid it, when this thread may not make
  /// `function` now. The other form says false instead.
  void check_allowed(const char* function);
  [[nodiscard]] bool allow() noexcept;
  /// The same, and for a stream or event that is in a capture whatever the mode.
  void check_host_may_ask(const char* function, StreamId stream);
  void check_host_may_ask(const char* function, DeviceEventId event);

  [[nodiscard]] std::shared_ptr<Graph> find(GraphId graph) const;
  /// As find, and no more nodes may be added from now on. Throws InvalidArgument.
  std::shared_ptr<Graph> for_launch(GraphId graph);
  FreeStatus destroy(GraphId graph) noexcept;

 private:
  using Nodes = std::vector<NodeId>;
  struct Running {
    CaptureId id;
    CaptureMode mode = CaptureMode::global;
    std::thread::id thread;
    StreamId origin;
    std::shared_ptr<Graph> graph;
    std::size_t first_node = 0;  ///< nodes before it were there when the capture began
    bool owns_graph = false;
    bool broken = false;
    std::set<StreamId> streams;
  };
  struct Member {
    CaptureId capture;
    Nodes terminals;
  };
  struct Point {
    CaptureId capture;
    Nodes terminals;
  };

  Running& active(const char* function, StreamId stream);
  GraphNode& add_node(StreamId stream, Operation operation);
  [[nodiscard]] static bool all_joined(const Running& capture,
                                       const std::map<StreamId, Member>& members);
  [[nodiscard]] static std::set<NodeId> ancestors(const Graph& graph, const Nodes& nodes);
  static void check_nodes(const char* function, const Graph& graph, std::span<const NodeId> nodes);
  void finish(const Running& capture, bool failed);
  void forget_graph(const std::shared_ptr<Graph>& graph) noexcept;
  void drop_nodes(Graph& graph, std::size_t first) noexcept;
  std::shared_ptr<Graph> new_graph(bool is_body);

  std::map<CaptureId, Running> captures_;
  std::map<StreamId, Member> members_;
  std::unordered_map<DeviceEventId, Point> points_;
  std::map<GraphId, std::shared_ptr<Graph>> graphs_;
  std::unordered_map<NodeId, std::weak_ptr<Graph>> graph_of_;
  std::uint64_t last_capture_ = 0;
  std::uint64_t last_graph_ = 0;
  std::uint64_t last_node_ = 0;
};

}  // namespace strandline::device
