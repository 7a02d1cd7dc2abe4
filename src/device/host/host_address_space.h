// SPDX-License-Identifier: Apache-2.0
// Reserve and commit on the host: reservations are inaccessible mappings, pages are an account of
// bytes, access is a protection. Contents go with the mapping, not with the pages.
#pragma once

#include "device/host/host_state.h"
#include "device/page_table.h"
#include "strandline/device/address_space.h"

namespace strandline::device {

class HostAddressSpace final : public AddressSpace {
 public:
  explicit HostAddressSpace(HostState& state)
      : AddressSpace(state.facts, state.gate), state_(state) {}
  ~HostAddressSpace() override;

 private:
  Address do_reserve(std::uint64_t bytes) override;
  FreeStatus do_release_reservation(Address address, std::uint64_t bytes) noexcept override;
  PagesId do_create_pages(std::uint64_t bytes) override;
  FreeStatus do_release_pages(PagesId pages) noexcept override;
  void do_map(Address address, PagesId pages) override;
  void do_set_access(Address address, std::uint64_t bytes,
                     std::span<const DeviceIndex> devices) override;
  FreeStatus do_unmap(Address address, std::uint64_t bytes) noexcept override;

  void refund(const std::vector<Pages>& freed) noexcept;

  HostState& state_;
  PageTable table_ STRANDLINE_GUARDED_BY(state_.mutex);
};

}  // namespace strandline::device
