// SPDX-License-Identifier: Apache-2.0
// Memory, address space and peers of a simulated device.
#include <exception>
#include <utility>

#include "device/checks.h"
#include "device/sim/sim_device.h"

namespace strandline::sim {

using device::Address;
using device::Call;
using device::FreeStatus;

device::Allocation SimMemory::do_allocate(std::uint64_t bytes, device::Placement placement,
                                          std::uint64_t alignment) {
  {
    const LockGuard lock(core_.mutex);
    core_.book.check_allowed("Memory::allocate");
  }
  return core_.space.allocate(facts_.index, bytes, placement, alignment);
}

FreeStatus SimMemory::do_deallocate(Address address) noexcept {
  {
    const LockGuard lock(core_.mutex);
    if (!core_.book.allow()) {
      gate_.note_refused_free(Call::deallocate, "a capture forbids it");
      return FreeStatus::refused;
    }
    const bool waits = core_.options.deallocation == Deallocation::waits_for_device;
    try {
      if (waits && !core_.is_runner()) core_.drive_device(facts_.index);
    } catch (const std::exception& error) {  // a chooser's
      gate_.note_refused_free(Call::deallocate, error.what());
      return FreeStatus::refused;
    }
  }
  return free_now(Call::deallocate, address);
}

FreeStatus SimMemory::free_now(Call call, Address address) noexcept {
  std::shared_ptr<Buffer> dying;
  const FreeStatus status = core_.space.deallocate(facts_.index, address, dying);
  if (status != FreeStatus::freed) gate_.note_refused_free(call, "nothing was allocated there");
  return status;
}

device::Allocation SimMemory::do_allocate_ordered(std::uint64_t bytes, StreamId stream) {
  {
    const LockGuard lock(core_.mutex);
    core_.own_stream("Memory::allocate_ordered", stream, facts_.index);
    if (core_.book.is_capturing(stream)) {
      device::throw_device("Memory::allocate_ordered", "allocations are not captured",
                           "a capturing stream", "an ordinary one");
    }
  }
  return core_.space.allocate(facts_.index, bytes, device::Placement::device,
                              facts_.allocation_alignment);
}

FreeStatus SimMemory::do_deallocate_ordered(Address address, StreamId id) noexcept {
  const LockGuard lock(core_.mutex);
  const auto stream = core_.streams.find(id);
  if (stream == core_.streams.end() || stream->second.device != facts_.index ||
      core_.book.is_capturing(id)) {
    gate_.note_refused_free(Call::deallocate_ordered, "no such stream, or it captures");
    return FreeStatus::refused;
  }
  // The memory stays the caller's until the point is reached; then it goes like any other.
  device::Operation operation = device::marker_operation(Call::deallocate_ordered);
  operation.work.body = [this, address] { free_now(Call::deallocate_ordered, address); };
  core_.add(stream->second, std::move(operation));
  return FreeStatus::freed;
}

device::BufferId SimMemory::do_wrap(Address address, std::uint64_t bytes) {
  return core_.space.wrap(facts_.index, address, bytes);
}

FreeStatus SimMemory::do_release_buffer(device::BufferId buffer) noexcept {
  std::shared_ptr<Buffer> dying;
  const FreeStatus status = core_.space.release_buffer(buffer, dying);
  if (status != FreeStatus::freed) {
    gate_.note_refused_free(Call::release_buffer, "no wrapped buffer");
  }
  return status;
}

void SimMemory::do_note_host_write(const device::Slice& slice) noexcept {
  core_.space.note_write(slice);
}

void SimMemory::do_make_resident(Address address) {
  core_.space.make_resident(facts_.index, address);
}

FreeStatus SimMemory::do_end_residency(Address address) noexcept {
  return core_.space.end_residency(facts_.index, address);
}

device::MemoryInfo SimMemory::do_info() const {
  return core_.space.info(facts_.index);
}

FreeStatus SimAddressSpace::noted(Call call, FreeStatus status) noexcept {
  if (status != FreeStatus::freed) gate_.note_refused_free(call, "nothing there that fits");
  return status;
}

Address SimAddressSpace::do_reserve(std::uint64_t bytes) {
  return core_.space.reserve(facts_.index, bytes);
}

FreeStatus SimAddressSpace::do_release_reservation(Address address, std::uint64_t bytes) noexcept {
  return noted(Call::release_reservation, core_.space.release_reservation(address, bytes));
}

device::PagesId SimAddressSpace::do_create_pages(std::uint64_t bytes) {
  return core_.space.create_pages(facts_.index, bytes);
}

FreeStatus SimAddressSpace::do_release_pages(device::PagesId pages) noexcept {
  return noted(Call::release_pages, core_.space.release_pages(pages));
}

void SimAddressSpace::do_map(Address address, device::PagesId pages) {
  core_.space.map(address, pages);
}

void SimAddressSpace::do_set_access(Address address, std::uint64_t bytes,
                                    std::span<const device::DeviceIndex> devices) {
  core_.space.set_access(address, bytes, devices);
}

FreeStatus SimAddressSpace::do_unmap(Address address, std::uint64_t bytes) noexcept {
  return noted(Call::unmap, core_.space.unmap(address, bytes));
}

bool SimPeers::do_can_access(device::DeviceIndex peer) const {
  return peer != facts_.index && peer.value < core_.options.devices.size();
}

void SimPeers::do_enable(device::DeviceIndex peer) {
  if (!do_can_access(peer)) {
    device::throw_invalid("Peers::enable", "peer", std::to_string(peer.value),
                          "another device of the machine");
  }
  core_.space.set_peer(facts_.index, peer, true);
}

FreeStatus SimPeers::do_disable(device::DeviceIndex peer) noexcept {
  if (!do_can_access(peer)) return FreeStatus::unknown;
  core_.space.set_peer(facts_.index, peer, false);
  return FreeStatus::freed;
}

}  // namespace strandline::sim
