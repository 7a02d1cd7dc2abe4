// SPDX-License-Identifier: Apache-2.0
// Captures of host streams. A launch is one piece of work that runs the nodes in the order in which
// they were captured.
#pragma once

#include "device/host/host_state.h"
#include "device/host/host_streams.h"
#include "strandline/device/capture.h"

namespace strandline::device {

class HostCapture final : public Capture {
 public:
  HostCapture(HostState& state, HostStreams& streams)
      : Capture(state.facts, state.gate), state_(state), streams_(streams) {}

 private:
  // Not analysed: that streams_ and state_ mean the same mutex is not seen.
  CaptureId do_begin(StreamId stream, GraphId graph, std::span<const NodeId> dependencies,
                     CaptureMode mode) override STRANDLINE_NO_LOCK_ANALYSIS;
  GraphId do_end(StreamId stream) override;
  CaptureInfo do_info(StreamId stream) const override STRANDLINE_NO_LOCK_ANALYSIS;
  void do_set_terminals(StreamId stream, std::span<const NodeId> terminals) override;
  std::vector<NodeId> do_dependencies(NodeId node) const override;
  Conditional do_add_conditional(StreamId stream, const ConditionalOptions& options) override;
  void do_launch(GraphId graph, StreamId stream) override STRANDLINE_NO_LOCK_ANALYSIS;
  FreeStatus do_destroy(GraphId graph) noexcept override;

  HostState& state_;
  HostStreams& streams_;
};

}  // namespace strandline::device
