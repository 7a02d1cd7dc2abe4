// SPDX-License-Identifier: Apache-2.0
// The kinds of call a device answers, how often each was made and refused, and the gate that every
// call passes before a backend sees it. The port counts for all backends; a simulation also lets
// the gate fail (faults) and charges time for passing it (a virtual clock).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "strandline/core/export.h"

namespace strandline::device {

enum class Call : std::uint8_t {
  allocate,
  deallocate,
  allocate_ordered,
  deallocate_ordered,
  wrap,
  release_buffer,
  make_resident,
  end_residency,
  memory_info,
  reserve,
  release_reservation,
  create_pages,
  release_pages,
  map,
  set_access,
  unmap,
  enable_peer,
  disable_peer,
  create_stream,
  destroy_stream,
  create_event,
  destroy_event,
  record_event,
  query_event,
  wait_event,  ///< the host waits
  stream_wait_event,
  submit,
  wait_stream,
  wait_device,
  query_stream,
  copy,
  fill,
  enqueue,
  enqueue_host_task,
  begin_capture,
  end_capture,
  capture_info,
  set_terminals,
  node_dependencies,
  add_conditional,
  launch,
  destroy_graph,
  run,  ///< queued work is executed; its failure shows at the next wait
};
inline constexpr std::size_t kCallCount = static_cast<std::size_t>(Call::run) + 1;

/// The name as the port spells it, e.g. "allocate".
STRANDLINE_API std::string_view call_name(Call call) noexcept;

/// The call ends something and never throws; a fault there shows as FreeStatus::refused.
STRANDLINE_API bool is_free_path(Call call) noexcept;

/// The calls in which the host waits for the device.
constexpr bool is_wait(Call call) noexcept {
  return call == Call::wait_event || call == Call::wait_stream || call == Call::wait_device;
}

/// Calls that passed the argument checks, by kind; refusals are free-path calls without effect.
/// A snapshot: exact when no other thread is in the device.
struct CallCounts {
  std::array<std::uint64_t, kCallCount> made = {};
  std::uint64_t refused_frees = 0;
  std::uint64_t errors_lost = 0;  ///< of queued work, that no wait was left to report

  [[nodiscard]] std::uint64_t of(Call call) const { return made[static_cast<std::size_t>(call)]; }
  [[nodiscard]] std::uint64_t waits() const {
    return of(Call::wait_event) + of(Call::wait_stream) + of(Call::wait_device);
  }
  bool operator==(const CallCounts&) const = default;
};

/// One per device; any thread. Backends derive from it to refuse calls.
class STRANDLINE_API CallGate {
 public:
  CallGate() = default;
  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;
  virtual ~CallGate() = default;

  /// Counts the call; throws OutOfMemory or DeviceError where the backend refuses it.
  void pass(Call call) {
    count(call);
    do_pass(call);
  }
  /// The same for free paths: false is a refusal, which has been noted.
  [[nodiscard]] bool try_pass(Call call) noexcept {
    count(call);
    if (do_try_pass(call)) return true;
    note_refused_free(call, "the device failed the call");
    return false;
  }

  /// Counts what the backend does on its own account (Call::run).
  void note(Call call) noexcept { count(call); }
  /// Counts, and logs the first of a device.
  void note_refused_free(Call call, const char* why) noexcept;
  void note_lost_error(const char* what) noexcept;

  [[nodiscard]] CallCounts counts() const noexcept;

 private:
  virtual void do_pass(Call) {}
  virtual bool do_try_pass(Call) noexcept { return true; }
  void count(Call call) noexcept {
    made_[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kCallCount> made_ = {};
  std::atomic<std::uint64_t> refused_frees_{0};
  std::atomic<std::uint64_t> errors_lost_{0};
};

}  // namespace strandline::device
