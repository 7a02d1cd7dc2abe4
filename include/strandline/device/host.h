// SPDX-License-Identifier: Apache-2.0
// The host as a device: memory of the operating system, and streams that run on worker threads.
// All placements are the same memory except pinned_host, which is locked within the process's
// limit (RLIMIT_MEMLOCK). Every call may be made from any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "strandline/core/export.h"
#include "strandline/device/device.h"

namespace strandline::device {

struct HostOptions {
  std::uint64_t capacity_bytes = 0;  ///< most that may be allocated; 0: the machine's memory
  std::uint64_t page_bytes = 0;      ///< of reservations; 0: the system's page
};

/// Each device has its own streams and accounts; they share the process's address space.
[[nodiscard]] STRANDLINE_API std::unique_ptr<Device> make_host_device(
    const HostOptions& options = {});

}  // namespace strandline::device
