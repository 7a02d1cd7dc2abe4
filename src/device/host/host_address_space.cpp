// SPDX-License-Identifier: Apache-2.0
// Reservations by mmap(PROT_NONE), access by mprotect, unmapping by a fresh PROT_NONE mapping. The
// calls on a reservation stay under the lock, which keeps the table and the protections one.
#include "device/host/host_address_space.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "device/checks.h"

namespace strandline::device {

HostAddressSpace::~HostAddressSpace() {
  const LockGuard lock(state_.mutex);
  for (const auto& [address, reservation] : table_.reservations()) {
    munmap(to_pointer(address), reservation.bytes);
  }
}

Address HostAddressSpace::do_reserve(std::uint64_t bytes) {
  const std::uint64_t page = state_.facts.page_bytes;
  const std::uint64_t extra = page - system_page_bytes();
  void* const mapped = mmap(nullptr, checked_add(bytes, extra), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr)
    throw_out_of_memory("AddressSpace::reserve", std::strerror(errno), bytes, 0,
                        state_.facts.address_space_bytes);
  }
  const Address start = to_address(mapped);
  const Address address = (start + page - 1) / page * page;
  if (address > start) munmap(mapped, address - start);
  const std::uint64_t tail = start + extra - address;
  if (tail > 0) munmap(to_pointer(address + bytes), tail);
  const LockGuard lock(state_.mutex);
  table_.add_reservation(address, bytes, state_.facts.index);
  return address;
}

FreeStatus HostAddressSpace::do_release_reservation(Address address, std::uint64_t bytes) noexcept {
  {
    const LockGuard lock(state_.mutex);
    if (!table_.may_release(address, bytes)) {
      state_.gate.note_refused_free(Call::release_reservation, "no such empty reservation");
      return FreeStatus::refused;
    }
    table_.erase_reservation(address);
  }
  munmap(to_pointer(address), bytes);
  return FreeStatus::freed;
}

PagesId HostAddressSpace::do_create_pages(std::uint64_t bytes) {
  state_.account->charge("AddressSpace::create_pages", bytes);
  const LockGuard lock(state_.mutex);
  const PagesId id{++state_.last_id};
  table_.add_pages(id, Pages{.bytes = bytes, .origin = 0, .owner = state_.facts.index});
  return id;
}

void HostAddressSpace::refund(const std::vector<Pages>& freed) noexcept {
  for (const Pages& pages : freed) state_.account->refund(pages.bytes);
}

FreeStatus HostAddressSpace::do_release_pages(PagesId pages) noexcept {
  std::vector<Pages> freed;
  const LockGuard lock(state_.mutex);
  const FreeStatus status = table_.release_handle(pages, freed);
  if (status != FreeStatus::freed) {
    state_.gate.note_refused_free(Call::release_pages, "no such pages");
  }
  refund(freed);
  return status;
}

void HostAddressSpace::do_map(Address address, PagesId pages) {
  const LockGuard lock(state_.mutex);
  table_.check_map(address, pages, state_.facts.supports.pages_alias);
  table_.add_mapping(address, pages);
}

void HostAddressSpace::do_set_access(Address address, std::uint64_t bytes,
                                     std::span<const DeviceIndex> devices) {
  constexpr const char* kFunction = "AddressSpace::set_access";
  const bool ours = std::find(devices.begin(), devices.end(), state_.facts.index) != devices.end();
  const LockGuard lock(state_.mutex);
  table_.check_whole_mappings(kFunction, address, bytes);
  if (mprotect(to_pointer(address), bytes, ours ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
    throw_device(kFunction, "mprotect failed", std::strerror(errno), "success");
  }
  table_.set_access(address, bytes, devices);
}

FreeStatus HostAddressSpace::do_unmap(Address address, std::uint64_t bytes) noexcept {
  std::vector<Pages> freed;
  const LockGuard lock(state_.mutex);
  if (!table_.unmap(address, bytes, freed)) {
    state_.gate.note_refused_free(Call::unmap, "the range does not consist of whole mappings");
    return FreeStatus::refused;
  }
  void* const emptied = mmap(to_pointer(address), bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  // Only a system without memory for its own tables comes here; the pages then stay committed.
  if (emptied == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr)
    state_.gate.note_refused_free(Call::unmap, std::strerror(errno));
  }
  refund(freed);
  return FreeStatus::freed;
}

}  // namespace strandline::device
