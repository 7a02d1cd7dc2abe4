// SPDX-License-Identifier: Apache-2.0
// The checks around captures and graphs, around peers, and the capture mode of a thread.
#include "strandline/device/capture.h"

#include <utility>

#include "device/checks.h"
#include "strandline/device/device.h"

namespace strandline::device {

namespace {

thread_local CaptureMode t_mode = CaptureMode::global;

}  // namespace

CaptureMode Capture::exchange_thread_mode(CaptureMode mode) noexcept {
  return std::exchange(t_mode, mode);
}

CaptureMode Capture::thread_mode() noexcept {
  return t_mode;
}

CaptureId Capture::begin(StreamId stream, CaptureMode mode) {
  check_supported(facts_.supports.capture, "Capture::begin", "capture", facts_);
  gate_.pass(Call::begin_capture);
  return do_begin(stream, GraphId{}, {}, mode);
}

CaptureId Capture::begin_into(StreamId stream, GraphId graph, std::span<const NodeId> dependencies,
                              CaptureMode mode) {
  constexpr const char* kFunction = "Capture::begin_into";
  check_supported(facts_.supports.capture, kFunction, "capture", facts_);
  if (!graph) throw_invalid(kFunction, "graph", "none", "a graph or body that lives");
  gate_.pass(Call::begin_capture);
  return do_begin(stream, graph, dependencies, mode);
}

GraphId Capture::end(StreamId stream) {
  check_supported(facts_.supports.capture, "Capture::end", "capture", facts_);
  gate_.pass(Call::end_capture);
  return do_end(stream);
}

CaptureInfo Capture::info(StreamId stream) const {
  gate_.pass(Call::capture_info);
  return do_info(stream);
}

void Capture::set_terminals(StreamId stream, std::span<const NodeId> terminals) {
  check_supported(facts_.supports.capture, "Capture::set_terminals", "capture", facts_);
  gate_.pass(Call::set_terminals);
  do_set_terminals(stream, terminals);
}

std::vector<NodeId> Capture::dependencies(NodeId node) const {
  check_supported(facts_.supports.capture, "Capture::dependencies", "capture", facts_);
  gate_.pass(Call::node_dependencies);
  return do_dependencies(node);
}

Conditional Capture::add_conditional(StreamId stream, const ConditionalOptions& options) {
  constexpr const char* kFunction = "Capture::add_conditional";
  check_supported(facts_.supports.conditional_bodies, kFunction, "conditional_bodies", facts_);
  if (options.value.size != sizeof(std::uint32_t) ||
      options.value.address % sizeof(std::uint32_t) != 0) {
    throw_invalid(kFunction, "condition",
                  fmt::format("{} bytes at {:#x}", options.value.size, options.value.address),
                  "4 bytes at a multiple of 4");
  }
  const bool many = options.kind == ConditionKind::switch_;
  if (options.body_count == 0 || (!many && options.body_count != 1)) {
    throw_invalid(kFunction, "body_count", std::to_string(options.body_count),
                  many ? "at least 1" : "1");
  }
  gate_.pass(Call::add_conditional);
  return do_add_conditional(stream, options);
}

void Capture::launch(GraphId graph, StreamId stream) {
  check_supported(facts_.supports.capture, "Capture::launch", "capture", facts_);
  gate_.pass(Call::launch);
  do_launch(graph, stream);
}

FreeStatus Capture::destroy(GraphId graph) noexcept {
  if (!graph) return FreeStatus::freed;
  if (!gate_.try_pass(Call::destroy_graph)) return FreeStatus::refused;
  return do_destroy(graph);
}

void Peers::enable(DeviceIndex peer) {
  check_supported(facts_.supports.peer_access, "Peers::enable", "peer_access", facts_);
  gate_.pass(Call::enable_peer);
  do_enable(peer);
}

FreeStatus Peers::disable(DeviceIndex peer) noexcept {
  if (!gate_.try_pass(Call::disable_peer)) return FreeStatus::refused;
  return do_disable(peer);
}

}  // namespace strandline::device
