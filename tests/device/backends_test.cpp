// SPDX-License-Identifier: Apache-2.0
// The backends that the conformance suite runs on.
#include "device/conformance.h"
#include "strandline/device/host.h"

namespace strandline::device {

std::vector<Backend> all_backends() {
  std::vector<Backend> backends;
  backends.push_back({"host", [] { return make_host_device(); }});
  backends.push_back({"host_with_large_pages", [] {
                        return make_host_device({.capacity_bytes = 1 << 30, .page_bytes = 2 << 20});
                      }});
  return backends;
}

}  // namespace strandline::device
