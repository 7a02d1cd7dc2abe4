// SPDX-License-Identifier: Apache-2.0
// Reservations, pages and mappings, and the rules between them.
#include "device/page_table.h"

#include "device/checks.h"

namespace strandline::device {

void PageTable::add_reservation(Address address, std::uint64_t bytes, DeviceIndex owner) {
  reservations_.emplace(address, Reservation{bytes, owner});
}

bool PageTable::may_release(Address address, std::uint64_t bytes) const {
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second.bytes != bytes) return false;
  const auto mapping = mappings_.lower_bound(address);
  return mapping == mappings_.end() || mapping->first >= address + bytes;
}

const Pages* PageTable::find(PagesId id) const {
  const auto found = pages_.find(id);
  return found == pages_.end() ? nullptr : &found->second;
}

FreeStatus PageTable::release_handle(PagesId id, std::vector<Pages>& freed) {
  const auto found = pages_.find(id);
  if (found == pages_.end() || !found->second.has_handle) return FreeStatus::unknown;
  found->second.has_handle = false;
  if (found->second.mappings == 0) {
    freed.push_back(found->second);
    pages_.erase(found);
  }
  return FreeStatus::freed;
}

Address PageTable::reservation_of(Address address, std::uint64_t bytes) const {
  auto found = reservations_.upper_bound(address);
  if (found == reservations_.begin()) return 0;
  --found;
  const std::uint64_t offset = address - found->first;
  const bool inside = offset < found->second.bytes && bytes <= found->second.bytes - offset;
  return inside ? found->first : 0;
}

const Pages& PageTable::check_map(Address address, PagesId id, bool alias_allowed) const {
  constexpr const char* kFunction = "AddressSpace::map";
  const Pages* pages = find(id);
  if (pages == nullptr || !pages->has_handle) {
    throw_invalid(kFunction, "pages", fmt::format("handle {}", id.value), "a living handle");
  }
  if (pages->mappings > 0 && !alias_allowed) {
    throw_invalid(kFunction, "the pages are mapped already", fmt::format("handle {}", id.value),
                  "pages mapped nowhere (Facts: pages_alias is false)");
  }
  if (reservation_of(address, pages->bytes) == 0) {
    throw_invalid(kFunction, "range", fmt::format("{:#x} + {} bytes", address, pages->bytes),
                  "a range inside one reservation");
  }
  const auto next = mappings_.lower_bound(address);
  Address start = 0;
  const bool taken = mapping_at(address, start) != nullptr ||
                     (next != mappings_.end() && next->first < address + pages->bytes);
  if (taken) {
    throw_invalid(kFunction, "range", fmt::format("{:#x} + {} bytes", address, pages->bytes),
                  "a range where nothing is mapped");
  }
  return *pages;
}

void PageTable::add_mapping(Address address, PagesId id) {
  Pages& pages = pages_.at(id);
  mappings_.emplace(address, Mapping{pages.bytes, id, {}});
  ++pages.mappings;
}

bool PageTable::whole_mappings(Address address, std::uint64_t bytes) const {
  Address at = address;
  const Address end = address + bytes;
  while (at < end) {
    const auto found = mappings_.find(at);
    if (found == mappings_.end() || found->second.bytes > end - at) return false;
    at += found->second.bytes;
  }
  return true;
}

void PageTable::check_whole_mappings(const char* function, Address address,
                                     std::uint64_t bytes) const {
  if (whole_mappings(address, bytes)) return;
  throw_invalid(function, "range", fmt::format("{:#x} + {} bytes", address, bytes),
                "a range that consists of whole mappings");
}

void PageTable::set_access(Address address, std::uint64_t bytes,
                           std::span<const DeviceIndex> devices) {
  auto mapping = mappings_.find(address);
  for (; mapping != mappings_.end() && mapping->first < address + bytes; ++mapping) {
    mapping->second.access.assign(devices.begin(), devices.end());
  }
}

bool PageTable::unmap(Address address, std::uint64_t bytes, std::vector<Pages>& freed) {
  if (bytes == 0 || !whole_mappings(address, bytes)) return false;
  auto mapping = mappings_.find(address);
  while (mapping != mappings_.end() && mapping->first < address + bytes) {
    const auto found = pages_.find(mapping->second.pages);
    if (--found->second.mappings == 0 && !found->second.has_handle) {
      freed.push_back(found->second);
      pages_.erase(found);
    }
    mapping = mappings_.erase(mapping);
  }
  return true;
}

const Mapping* PageTable::mapping_at(Address address, Address& start) const {
  auto found = mappings_.upper_bound(address);
  if (found == mappings_.begin()) return nullptr;
  --found;
  if (address - found->first >= found->second.bytes) return nullptr;
  start = found->first;
  return &found->second;
}

}  // namespace strandline::device
