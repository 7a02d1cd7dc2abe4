// SPDX-License-Identifier: Apache-2.0
// The checks around address-space calls.
#include "strandline/device/address_space.h"

#include "device/checks.h"

namespace strandline::device {

void AddressSpace::check_range(const char* function, Address address, std::uint64_t bytes) const {
  check_supported(facts_.supports.address_space, function, "address_space", facts_);
  check_positive(function, bytes);
  check_multiple(function, "address", address, facts_.page_bytes);
  check_multiple(function, "size", bytes, facts_.page_bytes);
  check_no_wrap(function, address, bytes);
}

Address AddressSpace::reserve(std::uint64_t bytes) {
  constexpr const char* kFunction = "AddressSpace::reserve";
  check_range(kFunction, 0, bytes);
  if (bytes > facts_.address_space_bytes) {
    throw_out_of_memory(kFunction, "more than the address space", bytes, facts_.address_space_bytes,
                        facts_.address_space_bytes);
  }
  gate_.pass(Call::reserve);
  return do_reserve(bytes);
}

FreeStatus AddressSpace::release_reservation(Address address, std::uint64_t bytes) noexcept {
  if (!facts_.supports.address_space) return FreeStatus::unknown;
  if (!gate_.try_pass(Call::release_reservation)) return FreeStatus::refused;
  return do_release_reservation(address, bytes);
}

PagesId AddressSpace::create_pages(std::uint64_t bytes) {
  constexpr const char* kFunction = "AddressSpace::create_pages";
  check_range(kFunction, 0, bytes);
  if (bytes > facts_.total_bytes) {
    throw_out_of_memory(kFunction, "more than the device has", bytes, facts_.total_bytes,
                        facts_.total_bytes);
  }
  gate_.pass(Call::create_pages);
  return do_create_pages(bytes);
}

FreeStatus AddressSpace::release_pages(PagesId pages) noexcept {
  if (!pages) return FreeStatus::freed;
  if (!gate_.try_pass(Call::release_pages)) return FreeStatus::refused;
  return do_release_pages(pages);
}

void AddressSpace::map(Address address, PagesId pages) {
  constexpr const char* kFunction = "AddressSpace::map";
  check_supported(facts_.supports.address_space, kFunction, "address_space", facts_);
  check_multiple(kFunction, "address", address, facts_.page_bytes);
  gate_.pass(Call::map);
  do_map(address, pages);
}

void AddressSpace::set_access(Address address, std::uint64_t bytes,
                              std::span<const DeviceIndex> devices) {
  check_range("AddressSpace::set_access", address, bytes);
  gate_.pass(Call::set_access);
  do_set_access(address, bytes, devices);
}

FreeStatus AddressSpace::unmap(Address address, std::uint64_t bytes) noexcept {
  if (!facts_.supports.address_space) return FreeStatus::unknown;
  if (!gate_.try_pass(Call::unmap)) return FreeStatus::refused;
  return do_unmap(address, bytes);
}

}  // namespace strandline::device
