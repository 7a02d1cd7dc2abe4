// SPDX-License-Identifier: Apache-2.0
// The gate of a simulated device: charges virtual time for each call, and lets faults happen.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "strandline/core/mutex.h"
#include "strandline/device/calls.h"
#include "strandline/device/sim/findings.h"
#include "strandline/device/sim/options.h"

namespace strandline::sim {

/// Virtual time of the host; any thread.
class Clock {
 public:
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_.load(); }
  void advance(std::uint64_t by_ns) noexcept { now_.fetch_add(by_ns); }
  void reach(std::uint64_t ns) noexcept {
    std::uint64_t now = now_.load();
    while (now < ns && !now_.compare_exchange_weak(now, ns)) {
    }
  }

 private:
  std::atomic<std::uint64_t> now_{0};
};

class Gate final : public device::CallGate {
 public:
  Gate(Clock& clock, const Costs& costs) : clock_(clock), costs_(costs) {}

  void add(const Fault& fault);
  void clear();
  /// Throws when a fault for the call is due; for work, where the caller keeps the error.
  void strike(device::Call call);

 private:
  struct Armed {
    Fault fault;
    std::uint64_t seen = 0;
  };

  void do_pass(device::Call call) override;
  bool do_try_pass(device::Call call) noexcept override;
  /// The fault that is due with this call, if any.
  bool due(device::Call call, Fault& fault) noexcept;

  Clock& clock_;
  const Costs& costs_;
  Mutex mutex_;
  std::vector<Armed> armed_ STRANDLINE_GUARDED_BY(mutex_);
  std::atomic<bool> any_armed_{false};
};

}  // namespace strandline::sim
