// SPDX-License-Identifier: Apache-2.0
// A machine with two streams on its first device, and short ways to say what its tests do.
#pragma once

#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::sim {

struct SimTest {
  explicit SimTest(const MachineOptions& options = {})
      : machine(options), a(streams().create()), b(streams().create()) {}

  device::Device& gpu() { return machine.device(); }
  device::Memory& memory() { return gpu().memory(); }
  device::Streams& streams() { return gpu().streams(); }
  device::Capture& capture() { return gpu().capture(); }

  device::Allocation allocate(std::uint64_t bytes) { return memory().allocate(bytes); }
  device::Allocation filled(std::uint64_t bytes, std::uint8_t value) {
    const device::Allocation held = memory().allocate(bytes);
    streams().fill(a, held.slice(), std::byte{value});
    streams().wait(a);
    return held;
  }
  std::uint8_t* bytes(const device::Allocation& held) {
    return reinterpret_cast<std::uint8_t*>(held.address);
  }
  void order(StreamId first, StreamId second) {
    const device::DeviceEventId event = streams().create_event();
    streams().record(event, first);
    streams().wait_event(second, event);
    streams().destroy_event(event);
  }
  std::vector<FindingKind> kinds() {
    std::vector<FindingKind> kinds;
    for (const Finding& finding : machine.findings()) kinds.push_back(finding.kind);
    return kinds;
  }

  Machine machine;
  StreamId a;
  StreamId b;
};

}  // namespace strandline::sim
