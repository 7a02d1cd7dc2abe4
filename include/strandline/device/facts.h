// SPDX-License-Identifier: Apache-2.0
// What a device is: sizes, granularities, limits, and what it supports. Fixed for its lifetime, so
// that callers choose their ways once. What a backend lacks it says here; calling it all the same
// is an InvalidArgument that names the fact.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "strandline/device/types.h"

namespace strandline::device {

struct Supports {
  std::array<bool, kPlacementCount> placement = {};  ///< by Placement
  bool host_reads_device = false;        ///< Placement::device may be read and written by pointer
  bool no_copy_buffers = false;          ///< wrap()
  bool residency = false;                ///< make_resident()
  bool ordered_allocation = false;       ///< allocate_ordered()
  bool address_space = false;            ///< reserve, pages, map, set access, unmap
  bool pages_keep_contents = false;      ///< pages unmapped and mapped again hold what they held
  bool pages_alias = false;              ///< pages may be mapped at several addresses at once
  bool work = false;                     ///< enqueue() of C++ bodies
  bool capture = false;                  ///< begin_capture() and graphs
  bool conditional_bodies = false;       ///< add_conditional()
  bool peer_access = false;              ///< other devices of the backend may be peers
  bool native_streams = false;           ///< streams of the native API can be adopted
  bool deallocate_waits = false;         ///< deallocate() waits for the device's queued work
  bool bound_work_keeps_memory = false;  ///< queued work keeps the buffers it binds (s3)
  bool orders_by_buffer = false;  ///< a stream orders work of one submission by buffer object (s2)
  bool submits_at_once = false;   ///< enqueued work may run without submit()

  bool operator==(const Supports&) const = default;
};

/// Invariant: every granularity is a power of two.
struct Facts {
  std::string name;
  DeviceIndex index;
  std::uint64_t total_bytes = 0;
  std::uint64_t max_allocation_bytes = 0;    ///< the largest one allocation
  std::uint64_t allocation_alignment = 1;    ///< of every address handed out
  std::uint64_t max_alignment = 1;           ///< the largest that may be asked for
  std::uint64_t allocation_granularity = 1;  ///< an allocation costs a multiple of it
  std::uint64_t page_bytes = 0;              ///< pages, reservations and mappings; 0: none
  std::uint64_t address_space_bytes = 0;     ///< that reservations share
  std::uint64_t no_copy_alignment = 1;       ///< address and size of wrapped memory
  std::uint64_t max_buffers = 0;             ///< live buffer objects; 0: no cap
  std::uint64_t max_pinned_bytes = 0;
  std::uint64_t working_set_bytes = 0;  ///< recommended; what can be resident at once
  Supports supports;

  [[nodiscard]] bool has(Placement placement) const {
    return supports.placement[static_cast<std::size_t>(placement)];
  }
};

/// A moment's view: others use the device as well.
struct MemoryInfo {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

}  // namespace strandline::device
