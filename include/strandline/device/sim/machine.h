// SPDX-License-Identifier: Apache-2.0
// A machine of simulated devices, in which every ordering and every failure can be had again.
//
// Devices share an address space (below 2^47), streams' numbering, events, captures and a virtual
// clock. Memory is real where it is touched and costs nothing elsewhere, so a device of 80 GB fits
// any machine. Queued work runs when somebody waits, one piece at a time, on the waiting thread, in
// the order that the options choose: the same calls give the same run, the same addresses
// (relative to `base()`) and the same findings.
//
//   sim::Machine machine({.interleaving = sim::Interleaving::newest_first});
//   device::Device& gpu = machine.device();
//   ... queue work ...
//   gpu.streams().wait_all();
//   for (const sim::Finding& finding : machine.findings()) puts(sim::describe(finding).c_str());
//
// Threads: every call from any thread; order between threads is theirs to make.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/device/device.h"
#include "strandline/device/sim/findings.h"
#include "strandline/device/sim/options.h"

namespace strandline::sim {

struct Core;

/// Work that could run next.
struct Candidate {
  StreamId stream;
  std::string operation;
};
/// Says which candidate runs: an index. Called without a lock; must not call into the machine.
using Chooser = std::function<std::size_t(std::span<const Candidate>)>;

class STRANDLINE_API Machine {
 public:
  explicit Machine(const MachineOptions& options = {});
  /// Runs what is queued. Memory still allocated goes as well.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] std::size_t device_count() const noexcept;
  [[nodiscard]] device::Device& device(device::DeviceIndex index = {});

  /// Runs one submitted piece of the stream's work, if one can run now.
  bool run_one(StreamId stream);
  /// Runs everything queued on every stream, submitted or not. Errors stay for their waits.
  void run_all();
  /// Enqueued and not done, markers of events included.
  [[nodiscard]] std::size_t pending(StreamId stream) const;
  /// Replaces the interleaving; an empty function restores it.
  void set_chooser(Chooser chooser);

  /// Adds a fault for calls on one device; several of one kind count independently.
  void add_fault(const Fault& fault, device::DeviceIndex index = {});
  void clear_faults();

  /// Since the last clear, in the order they were found.
  [[nodiscard]] std::vector<Finding> findings() const;
  void clear_findings();

  /// The host's virtual time. Waits move it to the end of what they waited for.
  [[nodiscard]] std::uint64_t now_ns() const;
  /// When the point of an event was or would be reached; 0 when it is pending or was never
  /// recorded.
  [[nodiscard]] std::uint64_t event_ns(device::DeviceEventId event) const;

  /// Where the address space starts, and how many bytes of memory freed things still poison.
  [[nodiscard]] device::Address base() const noexcept;
  [[nodiscard]] std::uint64_t poisoned_bytes() const;

 private:
  std::unique_ptr<Core> core_;
};

/// A machine's first device that owns its machine.
[[nodiscard]] STRANDLINE_API std::unique_ptr<device::Device> make_device(
    const MachineOptions& options = {});

}  // namespace strandline::sim
