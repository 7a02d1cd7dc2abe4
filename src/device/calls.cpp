// SPDX-License-Identifier: Apache-2.0
// Names of calls and placements, and the counting gate.
#include "strandline/device/calls.h"

#include <cstdio>

#include "strandline/device/types.h"

namespace strandline::device {

namespace {

constexpr std::array<std::string_view, kCallCount> kCallNames = {"allocate",
                                                                 "deallocate",
                                                                 "allocate_ordered",
                                                                 "deallocate_ordered",
                                                                 "wrap",
                                                                 "release_buffer",
                                                                 "make_resident",
                                                                 "end_residency",
                                                                 "memory_info",
                                                                 "reserve",
                                                                 "release_reservation",
                                                                 "create_pages",
                                                                 "release_pages",
                                                                 "map",
                                                                 "set_access",
                                                                 "unmap",
                                                                 "enable_peer",
                                                                 "disable_peer",
                                                                 "create_stream",
                                                                 "destroy_stream",
                                                                 "create_event",
                                                                 "destroy_event",
                                                                 "record_event",
                                                                 "query_event",
                                                                 "wait_event",
                                                                 "stream_wait_event",
                                                                 "submit",
                                                                 "wait_stream",
                                                                 "wait_device",
                                                                 "query_stream",
                                                                 "copy",
                                                                 "fill",
                                                                 "enqueue",
                                                                 "enqueue_host_task",
                                                                 "begin_capture",
                                                                 "end_capture",
                                                                 "capture_info",
                                                                 "set_terminals",
                                                                 "node_dependencies",
                                                                 "add_conditional",
                                                                 "launch",
                                                                 "destroy_graph",
                                                                 "run"};

constexpr std::array<std::string_view, kPlacementCount> kPlacementNames = {"device", "managed",
                                                                           "pinned_host", "host"};

}  // namespace

std::string_view call_name(Call call) noexcept {
  const auto index = static_cast<std::size_t>(call);
  return index < kCallCount ? kCallNames[index] : "unknown";
}

std::string_view placement_name(Placement placement) noexcept {
  const auto index = static_cast<std::size_t>(placement);
  return index < kPlacementCount ? kPlacementNames[index] : "unknown";
}

bool is_free_path(Call call) noexcept {
  switch (call) {
    case Call::deallocate:
    case Call::deallocate_ordered:
    case Call::release_buffer:
    case Call::end_residency:
    case Call::release_reservation:
    case Call::release_pages:
    case Call::unmap:
    case Call::disable_peer:
    case Call::destroy_stream:
    case Call::destroy_event:
    case Call::destroy_graph:
      return true;
    default:
      return false;
  }
}

void CallGate::note_refused_free(Call call, const char* why) noexcept {
  if (refused_frees_.fetch_add(1, std::memory_order_relaxed) == 0) {
    std::fprintf(stderr, "strandline: %s refused: %s (further refusals are only counted)\n",
                 call_name(call).data(), why);
  }
}

void CallGate::note_lost_error(const char* what) noexcept {
  if (errors_lost_.fetch_add(1, std::memory_order_relaxed) == 0) {
    std::fprintf(stderr, "strandline: an error of queued work is lost: %s\n", what);
  }
}

CallCounts CallGate::counts() const noexcept {
  CallCounts counts;
  for (std::size_t i = 0; i < kCallCount; ++i) {
    counts.made[i] = made_[i].load(std::memory_order_relaxed);
  }
  counts.refused_frees = refused_frees_.load(std::memory_order_relaxed);
  counts.errors_lost = errors_lost_.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace strandline::device
