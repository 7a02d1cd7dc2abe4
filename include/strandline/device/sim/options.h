// SPDX-License-Identifier: Apache-2.0
// What a simulated machine is made of, and by which rules it plays. The defaults are a device with
// 80 GB, streams in order, queued work that runs at waits, addresses reused at once.
// What each rule assumes of real devices stands in docs/assumptions.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "strandline/device/calls.h"
#include "strandline/device/types.h"

namespace strandline::sim {

/// Which work is ordered by its stream.
enum class StreamOrder : std::uint8_t {
  by_stream,  ///< all of it, one after another
  by_buffer,  ///< within one submission only what shares a buffer object; a submission ends order
};

/// Which of the work that could run next does.
enum class Interleaving : std::uint8_t {
  oldest_first,  ///< a wait runs no more than it needs, in the order of enqueueing
  newest_first,  ///< a wait runs no more than it needs, the latest first: finds missing order
  seeded,        ///< anything submitted, by a seeded generator
};

enum class RunAt : std::uint8_t {
  wait,    ///< submitted work stays pending until a wait, or Machine::run_*
  submit,  ///< submit() runs all work of its stream
};

enum class AddressReuse : std::uint8_t {
  at_once,  ///< the next allocation that fits gets the address freed last
  never,    ///< until the address space runs out
};

enum class Deallocation : std::uint8_t {
  at_once,           ///< deallocate() never waits
  waits_for_device,  ///< deallocate() first waits for all work of the device
};

enum class HostAccess : std::uint8_t { reaches_device, own_memory_only };

/// A call costs virtual time when it is made; work costs time on its stream.
struct Costs {
  std::array<std::uint64_t, device::kCallCount> call_ns = default_call_ns();  ///< by Call
  std::uint64_t bytes_per_ns =
      1000;  ///< that work reads and writes; on top of call_ns of Call::run

  static constexpr std::array<std::uint64_t, device::kCallCount> default_call_ns() {
    std::array<std::uint64_t, device::kCallCount> costs = {};
    costs.fill(1000);
    return costs;
  }
};

struct DeviceOptions {
  std::string name = "sim";
  std::uint64_t capacity_bytes = 80'000'000'000;
  std::uint64_t max_allocation_bytes = 0;       ///< 0: the capacity
  std::uint64_t allocation_granularity = 4096;  ///< what an allocation costs is a multiple of it
  std::uint64_t page_bytes = 2 << 20;           ///< of reservations and physical pages
  std::uint64_t no_copy_alignment = 4096;
  std::uint64_t max_buffers = 0;        ///< live buffer objects; 0: no cap
  std::uint64_t max_pinned_bytes = 0;   ///< 0: the capacity
  std::uint64_t working_set_bytes = 0;  ///< 0: three quarters of the capacity
};

struct MachineOptions {
  std::vector<DeviceOptions> devices = {DeviceOptions{}};
  StreamOrder order = StreamOrder::by_stream;
  Interleaving interleaving = Interleaving::oldest_first;
  std::uint64_t seed = 1;
  RunAt run_at = RunAt::wait;
  AddressReuse reuse = AddressReuse::at_once;
  Deallocation deallocation = Deallocation::at_once;
  HostAccess host_access = HostAccess::reaches_device;
  std::byte poison{0xDB};
  std::uint64_t poisoned_bytes_kept = 64 << 20;  ///< older freed bytes become inaccessible
  std::uint64_t address_space_bytes = std::uint64_t{16} << 40;  ///< less where the system refuses
  Costs costs = {};
};

}  // namespace strandline::sim
