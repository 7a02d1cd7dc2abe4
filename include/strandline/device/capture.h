// SPDX-License-Identifier: Apache-2.0
// Capture: work of a stream is noted as nodes of a graph instead of being done, and the graph can
// be launched again and again. Terminals of a stream are the nodes its next operation will depend
// on.
//
//   begin(a)            a: {}            a waits for nothing yet
//   copy on a -> n1     a: {n1}
//   record e on a; b waits for e         b: {n1}: b has joined the capture (fork)
//   work on b -> n2     b: {n2}
//   record f on b; a waits for f         a: {n1, n2} (join)
//   work on a -> n3     a: {n3}, and n3 depends on n1 and n2
//   end(a)              refused unless every stream's terminals come before a's
//
// A capture breaks when something is done that it forbids: a wait for or query of a stream or event
// in it, work that depends on uncaptured work, another capture joined, and, by a thread that
// CaptureMode forbids it to, any wait or query, allocate or deallocate of the backend. A broken
// capture refuses all further work with DeviceError, and end() gives no graph.
// Threads: any; a capture that is not relaxed is ended by the thread that began it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/device/calls.h"
#include "strandline/device/facts.h"
#include "strandline/device/types.h"

namespace strandline::device {

/// Whose forbidden calls break a capture: those of any thread, of the thread that began it, or
/// nobody's. A thread may relax itself (`exchange_thread_mode`).
enum class CaptureMode : std::uint8_t { global, thread_local_, relaxed };

enum class CaptureStatus : std::uint8_t { none, active, broken };

/// `terminals` in the order they were joined. All empty unless `status` is active.
struct CaptureInfo {
  CaptureStatus status = CaptureStatus::none;
  CaptureId id;
  GraphId graph;
  std::vector<NodeId> terminals;

  bool operator==(const CaptureInfo&) const = default;
};

enum class ConditionKind : std::uint8_t {
  if_,     ///< one body, run when the value is not 0
  while_,  ///< one body, run as long as the value is not 0
  switch_  ///< bodies[value] is run; past the last: none
};

/// The condition is the 32-bit value that the four bytes hold when the node runs.
struct ConditionalOptions {
  ConditionKind kind = ConditionKind::if_;
  Slice value;
  std::uint32_t body_count = 1;  ///< 1 unless kind is switch_
};

struct Conditional {
  NodeId node;
  std::vector<GraphId> bodies;  ///< live as long as the graph; filled by begin_into
};

class STRANDLINE_API Capture {
 public:
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  virtual ~Capture() = default;

  /// Starts on a stream that does not capture and is not the default stream.
  CaptureId begin(StreamId stream, CaptureMode mode = CaptureMode::global);
  /// The same, adding nodes to `graph` behind `dependencies`: a body, or a finished graph that was
  /// never launched. end() then returns `graph`.
  CaptureId begin_into(StreamId stream, GraphId graph, std::span<const NodeId> dependencies,
                       CaptureMode mode = CaptureMode::global);
  /// Ends on the stream that began. DeviceError when broken or when a stream has not joined; the
  /// capture has ended all the same, its nodes are gone, and all its streams are ordinary again.
  [[nodiscard]] GraphId end(StreamId stream);

  /// Never breaks a capture.
  [[nodiscard]] CaptureInfo info(StreamId stream) const;
  /// Replaces the terminals of a capturing stream by nodes of the same capture.
  void set_terminals(StreamId stream, std::span<const NodeId> terminals);
  /// The nodes that must be done before `node`, in the order they were joined.
  [[nodiscard]] std::vector<NodeId> dependencies(NodeId node) const;
  /// Sets how this thread is judged by captures; returns what was set. Every thread starts global.
  static CaptureMode exchange_thread_mode(CaptureMode mode) noexcept;
  static CaptureMode thread_mode() noexcept;

  /// Adds a node to a capturing stream whose bodies are captured later with begin_into.
  Conditional add_conditional(StreamId stream, const ConditionalOptions& options);
  /// One piece of work of `stream`: all nodes, each after those it depends on.
  void launch(GraphId graph, StreamId stream);
  /// Queued launches still run. Refused for bodies and while a capture adds to the graph.
  FreeStatus destroy(GraphId graph) noexcept;

 protected:
  Capture(const Facts& facts, CallGate& gate) : facts_(facts), gate_(gate) {}

  const Facts& facts_;
  CallGate& gate_;

 private:
  virtual CaptureId do_begin(StreamId stream, GraphId graph, std::span<const NodeId> dependencies,
                             CaptureMode mode) = 0;
  virtual GraphId do_end(StreamId stream) = 0;
  virtual CaptureInfo do_info(StreamId stream) const = 0;
  virtual void do_set_terminals(StreamId stream, std::span<const NodeId> terminals) = 0;
  virtual std::vector<NodeId> do_dependencies(NodeId node) const = 0;
  virtual Conditional do_add_conditional(StreamId stream, const ConditionalOptions& options) = 0;
  virtual void do_launch(GraphId graph, StreamId stream) = 0;
  virtual FreeStatus do_destroy(GraphId graph) noexcept = 0;
};

}  // namespace strandline::device
