// SPDX-License-Identifier: Apache-2.0
// Allocations, wrapped buffers and locked memory of the host.
#pragma once

#include <map>
#include <memory>

#include "device/host/host_state.h"
#include "strandline/device/memory.h"

namespace strandline::device {

class HostMemory final : public Memory {
 public:
  explicit HostMemory(HostState& state) : Memory(state.facts, state.gate), state_(state) {}

 private:
  struct Owned {
    std::shared_ptr<HostRegion> region;
    BufferId buffer;
    std::uint64_t size = 0;
  };

  Allocation do_allocate(std::uint64_t bytes, Placement placement,
                         std::uint64_t alignment) override;
  FreeStatus do_deallocate(Address address) noexcept override;
  Allocation do_allocate_ordered(std::uint64_t bytes, StreamId stream) override;
  FreeStatus do_deallocate_ordered(Address address, StreamId stream) noexcept override;
  BufferId do_wrap(Address address, std::uint64_t bytes) override;
  FreeStatus do_release_buffer(BufferId buffer) noexcept override;
  void do_make_resident(Address address) override;
  FreeStatus do_end_residency(Address address) noexcept override;
  MemoryInfo do_info() const override;

  static void lock_pages(const char* function, const HostRegion& region);

  HostState& state_;
  std::map<Address, Owned> owned_ STRANDLINE_GUARDED_BY(state_.mutex);
};

}  // namespace strandline::device
