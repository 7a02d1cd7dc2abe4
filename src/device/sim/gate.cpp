// SPDX-License-Identifier: Apache-2.0
// Faults and the cost of calls; the text of findings.
#include "device/sim/gate.h"

#include <fmt/format.h>

#include "device/checks.h"

namespace strandline::sim {

namespace {

bool obtains(device::Call call) {
  return call == device::Call::allocate || call == device::Call::allocate_ordered ||
         call == device::Call::wrap || call == device::Call::reserve ||
         call == device::Call::create_pages || call == device::Call::make_resident;
}

}  // namespace

std::string_view finding_name(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::read_of_freed:
      return "read of freed memory";
    case FindingKind::write_to_freed:
      return "write to freed memory";
    case FindingKind::read_of_unwritten:
      return "read of unwritten memory";
    case FindingKind::no_access:
      return "no access to memory";
    case FindingKind::unordered:
      return "unordered access";
  }
  return "unknown";
}

std::string describe(const Finding& finding) {
  std::string text =
      fmt::format("{}: {} on stream {}, {} bytes at {:#x}", finding_name(finding.kind),
                  finding.operation, finding.stream.value, finding.size, finding.address);
  if (!finding.other.empty()) text += fmt::format(", against {}", finding.other);
  return text;
}

void Gate::add(const Fault& fault) {
  if (fault.nth == 0)
    device::throw_invalid("Machine::add_fault", "nth", "0", "1 for the next call");
  const LockGuard lock(mutex_);
  armed_.push_back({fault, 0});
  any_armed_.store(true);
}

void Gate::clear() {
  const LockGuard lock(mutex_);
  armed_.clear();
  any_armed_.store(false);
}

bool Gate::due(device::Call call, Fault& fault) noexcept {
  if (!any_armed_.load(std::memory_order_relaxed)) return false;
  const LockGuard lock(mutex_);
  bool strikes = false;
  for (Armed& armed : armed_) {
    if (armed.fault.call != call) continue;
    ++armed.seen;
    const bool hit = armed.fault.repeat == FaultRepeat::once ? armed.seen == armed.fault.nth
                                                             : armed.seen >= armed.fault.nth;
    if (!hit) continue;
    fault = armed.fault;
    strikes = true;
  }
  return strikes;
}

void Gate::strike(device::Call call) {
  Fault fault;
  if (!due(call, fault)) return;
  const std::string text =
      error_message(device::call_name(call), "injected fault",
                    fmt::format("call {} since the fault was added", fault.nth), "no fault");
  const bool memory = fault.error == FaultError::out_of_memory ||
                      (fault.error == FaultError::fitting && obtains(call));
  if (memory) throw OutOfMemory(text, 0, 0, 0);
  throw DeviceError(text);
}

void Gate::do_pass(device::Call call) {
  clock_.advance(costs_.call_ns[static_cast<std::size_t>(call)]);
  strike(call);
}

bool Gate::do_try_pass(device::Call call) noexcept {
  clock_.advance(costs_.call_ns[static_cast<std::size_t>(call)]);
  Fault fault;
  return !due(call, fault);
}

}  // namespace strandline::sim
