// SPDX-License-Identifier: Apache-2.0
// The subjects of the contract suite.
#include "alloc/contract/contract.h"
#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/alloc/unified_allocator.h"

namespace strandline::alloc {
namespace {

template <typename Made>
std::unique_ptr<Allocator> make(device::Device& device) {
  return std::make_unique<Made>(device);
}

}  // namespace

std::vector<Subject> all_subjects() {
  const sim::MachineOptions usual;
  const sim::MachineOptions odd{.order = sim::StreamOrder::by_buffer,
                                .interleaving = sim::Interleaving::newest_first,
                                .reuse = sim::AddressReuse::never,
                                .deallocation = sim::Deallocation::waits_for_device};
  return {{"host_on_host", make<HostAllocator>},
          {"host_on_sim", make<HostAllocator>, usual},
          {"host_on_odd_sim", make<HostAllocator>, odd},
          {"unified_on_host", make<UnifiedAllocator>},
          {"unified_on_sim", make<UnifiedAllocator>, usual},
          {"unified_on_odd_sim", make<UnifiedAllocator>, odd},
          {"segment_on_host", make<SegmentAllocator>, {}, Grain::segments},
          {"segment_on_sim", make<SegmentAllocator>, usual, Grain::segments},
          {"segment_on_odd_sim", make<SegmentAllocator>, odd, Grain::segments}};
}

}  // namespace strandline::alloc
