// SPDX-License-Identifier: Apache-2.0
// The host device put together, and its facts.
#include <bit>

#include <sys/resource.h>

#include "device/checks.h"
#include "device/host/host_address_space.h"
#include "device/host/host_capture.h"
#include "device/host/host_memory.h"
#include "device/host/host_state.h"
#include "device/host/host_streams.h"
#include "strandline/device/host.h"

namespace strandline::device {

namespace {

class NoPeers final : public Peers {
 public:
  explicit NoPeers(HostState& state) : Peers(state.facts, state.gate) {}

 private:
  bool do_can_access(DeviceIndex) const override { return false; }
  void do_enable(DeviceIndex) override {}
  FreeStatus do_disable(DeviceIndex) noexcept override { return FreeStatus::unknown; }
};

std::uint64_t locked_limit(std::uint64_t capacity) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? capacity : std::uint64_t{limit.rlim_cur};
}

Facts host_facts(const HostOptions& options) {
  const std::uint64_t system_page = system_page_bytes();
  const std::uint64_t page = options.page_bytes == 0 ? system_page : options.page_bytes;
  if (!std::has_single_bit(page) || page < system_page) {
    throw_invalid("make_host_device", "page_bytes", std::to_string(page),
                  fmt::format("a power of two from {}", system_page));
  }
  const std::uint64_t capacity =
      options.capacity_bytes == 0 ? machine_memory_bytes() : options.capacity_bytes;
  Facts facts{.name = "host",
              .index = {},
              .total_bytes = capacity,
              .max_allocation_bytes = capacity,
              .allocation_alignment = system_page,
              .max_alignment = std::uint64_t{1} << 30,
              .allocation_granularity = system_page,
              .page_bytes = page,
              .address_space_bytes = std::uint64_t{1} << 46,
              .no_copy_alignment = 1,
              .max_buffers = 0,
              .max_pinned_bytes = locked_limit(capacity),
              .working_set_bytes = locked_limit(capacity),
              .supports = {}};
  facts.supports.placement = {true, true, true, true};
  facts.supports.host_reads_device = true;
  facts.supports.no_copy_buffers = true;
  facts.supports.residency = true;
  facts.supports.address_space = true;
  facts.supports.work = true;
  facts.supports.capture = true;
  facts.supports.conditional_bodies = true;
  facts.supports.bound_work_keeps_memory = true;
  facts.supports.submits_at_once = true;
  return facts;
}

class HostDevice final : public Device {
 public:
  explicit HostDevice(Facts facts)
      : state_(std::move(facts)),
        memory_(state_),
        address_space_(state_),
        streams_(state_),
        capture_(state_, streams_),
        peers_(state_) {}

  const Facts& facts() const noexcept override { return state_.facts; }
  Memory& memory() noexcept override { return memory_; }
  AddressSpace& address_space() noexcept override { return address_space_; }
  Streams& streams() noexcept override { return streams_; }
  Capture& capture() noexcept override { return capture_; }
  Peers& peers() noexcept override { return peers_; }
  CallCounts counts() const noexcept override { return state_.gate.counts(); }

 private:
  mutable HostState state_;
  HostMemory memory_;
  HostAddressSpace address_space_;
  HostStreams streams_;  // ends first of the three: its work may use the memory
  HostCapture capture_;
  NoPeers peers_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(const HostOptions& options) {
  return std::make_unique<HostDevice>(host_facts(options));
}

}  // namespace strandline::device
