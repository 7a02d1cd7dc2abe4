// SPDX-License-Identifier: Apache-2.0
// Allocations of the host: one mapping each.
#include "device/host/host_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "device/checks.h"

namespace strandline::device {

void HostMemory::lock_pages(const char* function, const HostRegion& region) {
  if (mlock(to_pointer(region.address()), region.mapped_bytes()) == 0) return;
  throw OutOfMemory(
      error_message(function, fmt::format("pages cannot be locked: {}", std::strerror(errno)),
                    fmt::format("{} bytes", region.mapped_bytes()),
                    "what RLIMIT_MEMLOCK leaves (ulimit -l)"),
      region.mapped_bytes(), 0, 0);
}

Allocation HostMemory::do_allocate(std::uint64_t bytes, Placement placement,
                                   std::uint64_t alignment) {
  {
    const LockGuard lock(state_.mutex);
    state_.book.check_allowed("Memory::allocate");
  }
  auto region = std::make_shared<HostRegion>(state_.account, bytes, alignment);
  if (placement == Placement::pinned_host) lock_pages("Memory::allocate", *region);
  const Address address = region->address();
  auto buffer = std::make_shared<HostBuffer>(HostBuffer{address, bytes, region});
  const LockGuard lock(state_.mutex);
  const BufferId id{++state_.last_id};
  const auto entry = owned_.emplace(address, Owned{std::move(region), id, bytes}).first;
  try {
    state_.buffers.emplace(id, std::move(buffer));
  } catch (...) {
    owned_.erase(entry);
    throw;
  }
  return {address, bytes, id};
}

FreeStatus HostMemory::do_deallocate(Address address) noexcept {
  Owned dying;
  std::shared_ptr<HostBuffer> buffer;  // both end after the lock: unmapping is a system call
  {
    const LockGuard lock(state_.mutex);
    const auto found = owned_.find(address);
    if (found == owned_.end()) {
      state_.gate.note_refused_free(Call::deallocate, "nothing was allocated there");
      return FreeStatus::unknown;
    }
    if (!state_.book.allow()) {
      state_.gate.note_refused_free(Call::deallocate, "a capture forbids it");
      return FreeStatus::refused;
    }
    dying = std::move(found->second);
    owned_.erase(found);
    const auto entry = state_.buffers.find(dying.buffer);
    buffer = std::move(entry->second);
    state_.buffers.erase(entry);
  }
  return FreeStatus::freed;
}

Allocation HostMemory::do_allocate_ordered(std::uint64_t bytes, StreamId) {
  throw_invalid("Memory::allocate_ordered", "size", std::to_string(bytes), "another device");
}

FreeStatus HostMemory::do_deallocate_ordered(Address, StreamId) noexcept {
  return FreeStatus::unknown;
}

BufferId HostMemory::do_wrap(Address address, std::uint64_t bytes) {
  auto buffer = std::make_shared<HostBuffer>(HostBuffer{address, bytes, nullptr});
  const LockGuard lock(state_.mutex);
  const BufferId id{++state_.last_id};
  state_.buffers.emplace(id, std::move(buffer));
  return id;
}

FreeStatus HostMemory::do_release_buffer(BufferId buffer) noexcept {
  std::shared_ptr<HostBuffer> dying;
  const LockGuard lock(state_.mutex);
  const auto found = state_.buffers.find(buffer);
  if (found == state_.buffers.end() || found->second->region != nullptr) {
    state_.gate.note_refused_free(Call::release_buffer, "no wrapped buffer");
    return FreeStatus::unknown;
  }
  dying = std::move(found->second);
  state_.buffers.erase(found);
  return FreeStatus::freed;
}

void HostMemory::do_make_resident(Address address) {
  constexpr const char* kFunction = "Memory::make_resident";
  std::shared_ptr<HostRegion> region;
  {
    const LockGuard lock(state_.mutex);
    const auto found = owned_.find(address);
    if (found != owned_.end()) region = found->second.region;
  }
  if (region == nullptr) {
    throw_invalid(kFunction, "address", fmt::format("{:#x}", address), "an allocation's start");
  }
  lock_pages(kFunction, *region);
}

FreeStatus HostMemory::do_end_residency(Address address) noexcept {
  std::shared_ptr<HostRegion> region;
  {
    const LockGuard lock(state_.mutex);
    const auto found = owned_.find(address);
    if (found == owned_.end()) return FreeStatus::unknown;
    region = found->second.region;
  }
  return munlock(to_pointer(region->address()), region->mapped_bytes()) == 0 ? FreeStatus::freed
                                                                             : FreeStatus::refused;
}

MemoryInfo HostMemory::do_info() const {
  return {std::min(state_.account->free_bytes(), available_memory_bytes()),
          state_.facts.total_bytes};
}

}  // namespace strandline::device
