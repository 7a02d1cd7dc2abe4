// SPDX-License-Identifier: Apache-2.0
// The five parts of a simulated device: thin layers over the machine's core.
#pragma once

#include <vector>

#include "device/sim/core.h"
#include "strandline/device/device.h"

namespace strandline::sim {

[[nodiscard]] std::vector<device::Facts> facts_of(const MachineOptions& options);

class SimMemory final : public device::Memory {
 public:
  SimMemory(Core& core, const device::Facts& facts, Gate& gate)
      : Memory(facts, gate), core_(core) {}

 private:
  device::Allocation do_allocate(std::uint64_t bytes, device::Placement placement,
                                 std::uint64_t alignment) override;
  device::FreeStatus do_deallocate(device::Address address) noexcept override;
  device::Allocation do_allocate_ordered(std::uint64_t bytes, StreamId stream) override;
  device::FreeStatus do_deallocate_ordered(device::Address address,
                                           StreamId stream) noexcept override;
  device::BufferId do_wrap(device::Address address, std::uint64_t bytes) override;
  device::FreeStatus do_release_buffer(device::BufferId buffer) noexcept override;
  void do_note_host_write(const device::Slice& slice) noexcept override;
  void do_make_resident(device::Address address) override;
  device::FreeStatus do_end_residency(device::Address address) noexcept override;
  device::MemoryInfo do_info() const override;

  device::FreeStatus free_now(device::Call call, device::Address address) noexcept;

  Core& core_;
};

class SimAddressSpace final : public device::AddressSpace {
 public:
  SimAddressSpace(Core& core, const device::Facts& facts, Gate& gate)
      : AddressSpace(facts, gate), core_(core) {}

 private:
  device::Address do_reserve(std::uint64_t bytes) override;
  device::FreeStatus do_release_reservation(device::Address address,
                                            std::uint64_t bytes) noexcept override;
  device::PagesId do_create_pages(std::uint64_t bytes) override;
  device::FreeStatus do_release_pages(device::PagesId pages) noexcept override;
  void do_map(device::Address address, device::PagesId pages) override;
  void do_set_access(device::Address address, std::uint64_t bytes,
                     std::span<const device::DeviceIndex> devices) override;
  device::FreeStatus do_unmap(device::Address address, std::uint64_t bytes) noexcept override;

  device::FreeStatus noted(device::Call call, device::FreeStatus status) noexcept;

  Core& core_;
};

class SimStreams final : public device::Streams {
 public:
  SimStreams(Core& core, const device::Facts& facts, Gate& gate);

 private:
  StreamId do_default_stream() const noexcept override { return default_; }
  StreamId do_create(const device::StreamOptions& options) override;
  device::FreeStatus do_destroy(StreamId stream) noexcept override;
  void* do_native(StreamId) const override { return nullptr; }
  device::DeviceEventId do_create_event() override;
  device::FreeStatus do_destroy_event(device::DeviceEventId event) noexcept override;
  void do_record(device::DeviceEventId event, StreamId stream) override;
  device::EventStatus do_query_event(device::DeviceEventId event) const override;
  void do_stream_wait_event(StreamId stream, device::DeviceEventId event) override;
  void do_wait_event(device::DeviceEventId event) override;
  void do_submit(StreamId stream) override;
  void do_wait_stream(StreamId stream) override;
  void do_wait_all() override;
  device::EventStatus do_query_stream(StreamId stream) const override;
  void do_copy(StreamId stream, const device::Slice& to, const device::Slice& from) override;
  void do_fill(StreamId stream, const device::Slice& to, std::byte value) override;
  void do_enqueue(StreamId stream, device::Work work) override;
  void do_enqueue_host_task(StreamId stream, std::string name, std::function<void()> task) override;

  void push(const char* function, StreamId stream, device::Operation operation);

  Core& core_;
  StreamId default_;
};

class SimCapture final : public device::Capture {
 public:
  SimCapture(Core& core, const device::Facts& facts, Gate& gate, const SimStreams& streams)
      : Capture(facts, gate), core_(core), streams_(streams) {}

 private:
  device::CaptureId do_begin(StreamId stream, device::GraphId graph,
                             std::span<const device::NodeId> dependencies,
                             device::CaptureMode mode) override;
  device::GraphId do_end(StreamId stream) override;
  device::CaptureInfo do_info(StreamId stream) const override;
  void do_set_terminals(StreamId stream, std::span<const device::NodeId> terminals) override;
  std::vector<device::NodeId> do_dependencies(device::NodeId node) const override;
  device::Conditional do_add_conditional(StreamId stream,
                                         const device::ConditionalOptions& options) override;
  void do_launch(device::GraphId graph, StreamId stream) override;
  device::FreeStatus do_destroy(device::GraphId graph) noexcept override;

  Core& core_;
  const SimStreams& streams_;
};

class SimPeers final : public device::Peers {
 public:
  SimPeers(Core& core, const device::Facts& facts, Gate& gate) : Peers(facts, gate), core_(core) {}

 private:
  bool do_can_access(device::DeviceIndex peer) const override;
  void do_enable(device::DeviceIndex peer) override;
  device::FreeStatus do_disable(device::DeviceIndex peer) noexcept override;

  Core& core_;
};

class SimDevice final : public device::Device {
 public:
  SimDevice(Core& core, device::Facts facts, Gate& gate)
      : facts_(std::move(facts)),
        gate_(gate),
        memory_(core, facts_, gate),
        address_space_(core, facts_, gate),
        streams_(core, facts_, gate),
        capture_(core, facts_, gate, streams_),
        peers_(core, facts_, gate) {}

  const device::Facts& facts() const noexcept override { return facts_; }
  device::Memory& memory() noexcept override { return memory_; }
  device::AddressSpace& address_space() noexcept override { return address_space_; }
  device::Streams& streams() noexcept override { return streams_; }
  device::Capture& capture() noexcept override { return capture_; }
  device::Peers& peers() noexcept override { return peers_; }
  device::CallCounts counts() const noexcept override { return gate_.counts(); }

 private:
  const device::Facts facts_;
  Gate& gate_;
  SimMemory memory_;
  SimAddressSpace address_space_;
  SimStreams streams_;
  SimCapture capture_;
  SimPeers peers_;
};

}  // namespace strandline::sim
