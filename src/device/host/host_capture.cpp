// SPDX-License-Identifier: Apache-2.0
// Captures and launches on the host.
#include "device/host/host_capture.h"

#include <utility>

#include "device/checks.h"
#include "device/run_graph.h"

namespace strandline::device {

CaptureId HostCapture::do_begin(StreamId stream, GraphId graph,
                                std::span<const NodeId> dependencies, CaptureMode mode) {
  constexpr const char* kFunction = "Capture::begin";
  const LockGuard lock(state_.mutex);
  streams_.check_stream(kFunction, stream);
  if (stream == streams_.default_stream()) {
    throw_invalid(kFunction, "stream", "the default stream", "a stream that was created");
  }
  return state_.book.begin(stream, graph, dependencies, mode);
}

GraphId HostCapture::do_end(StreamId stream) {
  const LockGuard lock(state_.mutex);
  return state_.book.end(stream);
}

CaptureInfo HostCapture::do_info(StreamId stream) const {
  const LockGuard lock(state_.mutex);
  streams_.check_stream("Capture::info", stream);
  return state_.book.info(stream);
}

void HostCapture::do_set_terminals(StreamId stream, std::span<const NodeId> terminals) {
  const LockGuard lock(state_.mutex);
  state_.book.set_terminals(stream, terminals);
}

std::vector<NodeId> HostCapture::do_dependencies(NodeId node) const {
  const LockGuard lock(state_.mutex);
  return state_.book.dependencies(node);
}

Conditional HostCapture::do_add_conditional(StreamId stream, const ConditionalOptions& options) {
  const LockGuard lock(state_.mutex);
  return state_.book.add_conditional(stream, options);
}

void HostCapture::do_launch(GraphId graph, StreamId stream) {
  std::shared_ptr<Graph> launched;
  {
    const LockGuard lock(state_.mutex);
    streams_.check_stream("Capture::launch", stream);
    if (state_.book.is_capturing(stream)) {
      state_.book.add_launch(stream, graph);
      return;
    }
    launched = state_.book.for_launch(graph);
  }
  Operation operation = marker_operation(Call::launch);
  operation.work.name = fmt::format("graph {}", graph.value);
  operation.work.body = [launched = std::move(launched)] { run_in_order(*launched); };
  streams_.push("Capture::launch", stream, std::move(operation));
}

FreeStatus HostCapture::do_destroy(GraphId graph) noexcept {
  std::shared_ptr<Graph> dying;  // what its work captured ends without the lock
  const LockGuard lock(state_.mutex);
  dying = state_.book.find(graph);
  const FreeStatus status = state_.book.destroy(graph);
  if (status != FreeStatus::freed) {
    state_.gate.note_refused_free(Call::destroy_graph, "unknown, a body, or being captured");
  }
  return status;
}

}  // namespace strandline::device
