// SPDX-License-Identifier: Apache-2.0
// The device port: the smallest set of calls that allocators, captures and tensors need, in terms
// every backend has. A device is five parts, each a non-virtual surface that checks arguments and
// counts calls once, around the virtual functions of a backend:
//
//   memory()         allocations, wrapped buffers, residency          memory.h
//   address_space()  reserve, physical pages, map, access, unmap      address_space.h
//   streams()        streams, device events, copies, fills, work      streams.h
//   capture()        capture, graphs, conditional bodies              capture.h
//   peers()          access between devices of a backend              below
//
// Backends: host.h (real memory, worker threads), sim/machine.h (deterministic simulation).
// Threads: any. A device outlives everything made from it; its destructor waits for queued work.
#pragma once

#include "strandline/core/export.h"
#include "strandline/device/address_space.h"
#include "strandline/device/calls.h"
#include "strandline/device/capture.h"
#include "strandline/device/facts.h"
#include "strandline/device/memory.h"
#include "strandline/device/streams.h"
#include "strandline/device/types.h"

namespace strandline::device {

/// Which other devices of the backend may reach this device's memory, and be reached, directly.
/// Pages are apart: AddressSpace::set_access names devices itself.
class STRANDLINE_API Peers {
 public:
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  virtual ~Peers() = default;

  /// Whether enable() would succeed; false for the device itself and for unknown ones.
  [[nodiscard]] bool can_access(DeviceIndex peer) const { return do_can_access(peer); }
  /// Lets this device's work reach the peer's memory; again is no error.
  void enable(DeviceIndex peer);
  FreeStatus disable(DeviceIndex peer) noexcept;

 protected:
  Peers(const Facts& facts, CallGate& gate) : facts_(facts), gate_(gate) {}

  const Facts& facts_;
  CallGate& gate_;

 private:
  virtual bool do_can_access(DeviceIndex peer) const = 0;
  virtual void do_enable(DeviceIndex peer) = 0;
  virtual FreeStatus do_disable(DeviceIndex peer) noexcept = 0;
};

class STRANDLINE_API Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const Facts& facts() const noexcept = 0;
  [[nodiscard]] virtual Memory& memory() noexcept = 0;
  [[nodiscard]] virtual AddressSpace& address_space() noexcept = 0;
  [[nodiscard]] virtual Streams& streams() noexcept = 0;
  [[nodiscard]] virtual Capture& capture() noexcept = 0;
  [[nodiscard]] virtual Peers& peers() noexcept = 0;
  [[nodiscard]] virtual CallCounts counts() const noexcept = 0;
};

}  // namespace strandline::device
