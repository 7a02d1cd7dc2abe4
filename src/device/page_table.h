// SPDX-License-Identifier: Apache-2.0
// The book of an address space: reservations, physical pages, and which pages are mapped where with
// whose access. Pure state, shared by the backends, not synchronised; they do the mapping itself.
//
//   invariant: mappings lie inside one reservation each, touch or not, never overlap
//   invariant: pages live while their handle does or `mappings` > 0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "strandline/device/types.h"

namespace strandline::device {

struct Pages {
  std::uint64_t bytes = 0;
  std::uint64_t origin = 0;  ///< the backend's: where the bytes are kept
  DeviceIndex owner;
  bool has_handle = true;
  int mappings = 0;
};

struct Mapping {
  std::uint64_t bytes = 0;
  PagesId pages;
  std::vector<DeviceIndex> access;
};

class PageTable {
 public:
  void add_reservation(Address address, std::uint64_t bytes, DeviceIndex owner);
  [[nodiscard]] bool may_release(Address address, std::uint64_t bytes) const;
  void erase_reservation(Address address) { reservations_.erase(address); }

  void add_pages(PagesId id, const Pages& pages) { pages_.emplace(id, pages); }
  [[nodiscard]] const Pages* find(PagesId id) const;
  /// The pages that this frees, if it does, are handed to `freed`.
  FreeStatus release_handle(PagesId id, std::vector<Pages>& freed);

  /// Throws InvalidArgument unless `id` may be mapped at `address`.
  const Pages& check_map(Address address, PagesId id, bool alias_allowed) const;
  void add_mapping(Address address, PagesId id);
  /// Throws InvalidArgument unless the range consists of whole mappings.
  void check_whole_mappings(const char* function, Address address, std::uint64_t bytes) const;
  void set_access(Address address, std::uint64_t bytes, std::span<const DeviceIndex> devices);
  /// False, and nothing done, unless the range consists of whole mappings.
  [[nodiscard]] bool unmap(Address address, std::uint64_t bytes, std::vector<Pages>& freed);

  /// The mapping that holds `address`, and where it starts; null when there is none.
  [[nodiscard]] const Mapping* mapping_at(Address address, Address& start) const;
  /// The start of the reservation that holds the range; 0 when none does.
  [[nodiscard]] Address reservation_of(Address address, std::uint64_t bytes) const;
  [[nodiscard]] const auto& reservations() const { return reservations_; }
  [[nodiscard]] const auto& mappings() const { return mappings_; }

 private:
  struct Reservation {
    std::uint64_t bytes = 0;
    DeviceIndex owner;
  };

  [[nodiscard]] bool whole_mappings(Address address, std::uint64_t bytes) const;

  std::map<Address, Reservation> reservations_;
  std::map<Address, Mapping> mappings_;
  std::unordered_map<PagesId, Pages> pages_;
};

}  // namespace strandline::device
