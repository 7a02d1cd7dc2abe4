// SPDX-License-Identifier: Apache-2.0
// Captures of a simulated device.
#include "device/checks.h"
#include "device/sim/sim_device.h"

namespace strandline::sim {

using device::Call;
using device::FreeStatus;

device::CaptureId SimCapture::do_begin(StreamId stream, device::GraphId graph,
                                       std::span<const device::NodeId> dependencies,
                                       device::CaptureMode mode) {
  constexpr const char* kFunction = "Capture::begin";
  const LockGuard lock(core_.mutex);
  core_.own_stream(kFunction, stream, facts_.index);
  if (stream == streams_.default_stream()) {
    device::throw_invalid(kFunction, "stream", "the default stream", "a stream that was created");
  }
  return core_.book.begin(stream, graph, dependencies, mode);
}

device::GraphId SimCapture::do_end(StreamId stream) {
  const LockGuard lock(core_.mutex);
  return core_.book.end(stream);
}

device::CaptureInfo SimCapture::do_info(StreamId stream) const {
  const LockGuard lock(core_.mutex);
  core_.own_stream("Capture::info", stream, facts_.index);
  return core_.book.info(stream);
}

void SimCapture::do_set_terminals(StreamId stream, std::span<const device::NodeId> terminals) {
  const LockGuard lock(core_.mutex);
  core_.book.set_terminals(stream, terminals);
}

std::vector<device::NodeId> SimCapture::do_dependencies(device::NodeId node) const {
  const LockGuard lock(core_.mutex);
  return core_.book.dependencies(node);
}

device::Conditional SimCapture::do_add_conditional(StreamId stream,
                                                   const device::ConditionalOptions& options) {
  const LockGuard lock(core_.mutex);
  return core_.book.add_conditional(stream, options);
}

void SimCapture::do_launch(device::GraphId graph, StreamId id) {
  const LockGuard lock(core_.mutex);
  SimStream& stream = core_.own_stream("Capture::launch", id, facts_.index);
  if (core_.book.is_capturing(id)) {
    core_.book.add_launch(id, graph);
    return;
  }
  core_.add_graph(stream, core_.book.for_launch(graph));
}

FreeStatus SimCapture::do_destroy(device::GraphId graph) noexcept {
  std::shared_ptr<device::Graph> dying;  // what its work captured ends without the lock
  const LockGuard lock(core_.mutex);
  dying = core_.book.find(graph);
  const FreeStatus status = core_.book.destroy(graph);
  if (status != FreeStatus::freed) {
    gate_.note_refused_free(Call::destroy_graph, "unknown, a body, or being captured");
  }
  return status;
}

}  // namespace strandline::sim
