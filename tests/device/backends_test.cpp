// SPDX-License-Identifier: Apache-2.0
// The backends that the conformance suite runs on.
#include "device/conformance.h"
#include "strandline/device/host.h"
#include "strandline/device/sim/machine.h"

namespace strandline::device {

std::vector<Backend> all_backends() {
  std::vector<Backend> backends;
  backends.push_back({"host", [] { return make_host_device(); }});
  backends.push_back({"host_with_large_pages", [] {
                        return make_host_device({.capacity_bytes = 1 << 30, .page_bytes = 2 << 20});
                      }});
  backends.push_back({"sim", [] { return sim::make_device(); }});
  backends.push_back(
      {"sim_seeded", [] { return sim::make_device({.interleaving = sim::Interleaving::seeded}); }});
  backends.push_back({"sim_by_buffer_newest_first", [] {
                        return sim::make_device({.order = sim::StreamOrder::by_buffer,
                                                 .interleaving = sim::Interleaving::newest_first});
                      }});
  backends.push_back({"sim_running_at_submit_never_reusing", [] {
                        return sim::make_device(
                            {.run_at = sim::RunAt::submit,
                             .reuse = sim::AddressReuse::never,
                             .deallocation = sim::Deallocation::waits_for_device,
                             .host_access = sim::HostAccess::own_memory_only});
                      }});
  return backends;
}

}  // namespace strandline::device
