// SPDX-License-Identifier: Apache-2.0
// Address space apart from memory: reserve a range of addresses, create physical pages, map pages
// into the range, give devices access, unmap. Everything in multiples of Facts::page_bytes.
//
//   reserve      |------------------ reservation ------------------|   addresses, no memory
//   create+map   |[ pages A ][ pages B ]                           |   memory, no access
//   set_access   |[ pages A ][ pages B ]                           |   usable by those devices
//   unmap A      |            [ pages B ]                          |   A lives until released
//
// Threads: any. Errors as in memory.h: InvalidArgument for ranges that do not fit what lives
// there, OutOfMemory when addresses (reserve) or memory (create_pages) run out.
#pragma once

#include <cstdint>
#include <span>

#include "strandline/core/export.h"
#include "strandline/device/calls.h"
#include "strandline/device/facts.h"
#include "strandline/device/types.h"

namespace strandline::device {

class STRANDLINE_API AddressSpace {
 public:
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  virtual ~AddressSpace() = default;

  /// A range of `bytes` addresses, aligned to a page, that nothing else will be given.
  [[nodiscard]] Address reserve(std::uint64_t bytes);
  /// `bytes` is the whole reservation; refused while pages are mapped in it.
  FreeStatus release_reservation(Address address, std::uint64_t bytes) noexcept;

  /// Physical memory of this device. Lives until it is released and mapped nowhere.
  [[nodiscard]] PagesId create_pages(std::uint64_t bytes);
  /// Drops the handle; mapped pages stay until they are unmapped.
  FreeStatus release_pages(PagesId pages) noexcept;

  /// Puts all of `pages` at `address`, inside one reservation and over nothing mapped. No device
  /// has access yet. Pages of another device of the backend may be mapped. Does not wait.
  void map(Address address, PagesId pages);
  /// Sets which devices reach the range, which must consist of whole mappings; replaces what was
  /// set.
  void set_access(Address address, std::uint64_t bytes, std::span<const DeviceIndex> devices);
  /// Removes the mappings of the range, which must consist of whole ones. Does not wait: queued
  /// work that uses the range must be done.
  FreeStatus unmap(Address address, std::uint64_t bytes) noexcept;

 protected:
  AddressSpace(const Facts& facts, CallGate& gate) : facts_(facts), gate_(gate) {}

  const Facts& facts_;
  CallGate& gate_;

 private:
  void check_range(const char* function, Address address, std::uint64_t bytes) const;

  virtual Address do_reserve(std::uint64_t bytes) = 0;
  virtual FreeStatus do_release_reservation(Address address, std::uint64_t bytes) noexcept = 0;
  virtual PagesId do_create_pages(std::uint64_t bytes) = 0;
  virtual FreeStatus do_release_pages(PagesId pages) noexcept = 0;
  virtual void do_map(Address address, PagesId pages) = 0;
  virtual void do_set_access(Address address, std::uint64_t bytes,
                             std::span<const DeviceIndex> devices) = 0;
  virtual FreeStatus do_unmap(Address address, std::uint64_t bytes) noexcept = 0;
};

}  // namespace strandline::device
