// SPDX-License-Identifier: Apache-2.0
// Reservations and physical pages of a machine. Pages are a piece of a sparse file, so that what
// they hold follows them from one mapping to the next.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/checks.h"
#include "device/sim/space.h"

namespace strandline::sim {

using device::Address;
using device::DeviceIndex;
using device::FreeStatus;
using device::PagesId;
using device::to_pointer;

Address Space::reserve(DeviceIndex index, std::uint64_t bytes) {
  const LockGuard lock(mutex_);
  const Address address = arena_.take(bytes, account(index).facts.page_bytes);
  if (address == 0) {
    device::throw_out_of_memory("AddressSpace::reserve", "address space", bytes, 0, arena_.size());
  }
  table_.add_reservation(address, bytes, index);
  return address;
}

FreeStatus Space::release_reservation(Address address, std::uint64_t bytes) noexcept {
  const LockGuard lock(mutex_);
  if (!table_.may_release(address, bytes)) return FreeStatus::refused;
  table_.erase_reservation(address);
  arena_.give_back(address, bytes);
  return FreeStatus::freed;
}

PagesId Space::create_pages(DeviceIndex index, std::uint64_t bytes) {
  const LockGuard lock(mutex_);
  Account& owner = account(index);
  if (bytes > owner.facts.total_bytes - owner.used) {
    device::throw_out_of_memory("AddressSpace::create_pages", "device memory", bytes,
                                owner.facts.total_bytes - owner.used, owner.facts.total_bytes);
  }
  const PagesId id{++last_id_};
  table_.add_pages(id, device::Pages{.bytes = bytes, .origin = pages_end_, .owner = index});
  pages_written_.emplace(id, RangeSet{});
  pages_end_ += bytes;
  owner.used += bytes;
  return id;
}

void Space::drop_pages(const std::vector<device::Pages>& freed) noexcept {
  for (const device::Pages& pages : freed) {
    account(pages.owner).used -= pages.bytes;
    // Failing costs real memory only: the piece of the file is never used again.
    [[maybe_unused]] const int result =
        fallocate(pages_file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(pages.origin), static_cast<off_t>(pages.bytes));
  }
}

FreeStatus Space::release_pages(PagesId pages) noexcept {
  const LockGuard lock(mutex_);
  std::vector<device::Pages> freed;
  const FreeStatus status = table_.release_handle(pages, freed);
  if (!freed.empty()) pages_written_.erase(pages);
  drop_pages(freed);
  return status;
}

void Space::map(Address address, PagesId id) {
  constexpr const char* kFunction = "AddressSpace::map";
  const LockGuard lock(mutex_);
  const device::Pages& pages = table_.check_map(address, id, /*alias_allowed=*/true);
  void* const mapped =
      mmap(to_pointer(address), pages.bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
           pages_file_, static_cast<off_t>(pages.origin));
  if (mapped == MAP_FAILED) {
    device::throw_device(kFunction, "the system maps no more", std::strerror(errno),
                         "fewer mappings in this process");
  }
  table_.add_mapping(address, id);
}

void Space::set_access(Address address, std::uint64_t bytes, std::span<const DeviceIndex> devices) {
  constexpr const char* kFunction = "AddressSpace::set_access";
  const LockGuard lock(mutex_);
  for (const DeviceIndex index : devices) {
    if (index.value >= accounts_.size()) {
      device::throw_invalid(kFunction, "device", std::to_string(index.value),
                            fmt::format("an index below {}", accounts_.size()));
    }
  }
  table_.check_whole_mappings(kFunction, address, bytes);
  const int protection = devices.empty() ? PROT_NONE : PROT_READ | PROT_WRITE;
  if (mprotect(to_pointer(address), bytes, protection) != 0) {
    device::throw_device(kFunction, "mprotect failed", std::strerror(errno), "success");
  }
  table_.set_access(address, bytes, devices);
}

FreeStatus Space::unmap(Address address, std::uint64_t bytes) noexcept {
  const LockGuard lock(mutex_);
  std::vector<PagesId> unmapped;
  for (auto mapping = table_.mappings().lower_bound(address);
       mapping != table_.mappings().end() && mapping->first - address < bytes; ++mapping) {
    unmapped.push_back(mapping->second.pages);
  }
  std::vector<device::Pages> freed;
  if (!table_.unmap(address, bytes, freed)) return FreeStatus::refused;
  for (const PagesId pages : unmapped) {
    if (table_.find(pages) == nullptr) pages_written_.erase(pages);
  }
  // Refused only when the process has too many mappings; the work that reaches it is found anyway.
  [[maybe_unused]] void* const emptied =
      mmap(to_pointer(address), bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  drop_pages(freed);
  return FreeStatus::freed;
}

void Space::set_peer(DeviceIndex from, DeviceIndex to, bool enabled) {
  const LockGuard lock(mutex_);
  account(from).peers[to.value] = enabled;
}

}  // namespace strandline::sim
