// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the device port: handles, addresses, spans of memory, placements.
// Handles are distinct types, unique among everything one backend ever made, and never used again;
// 0 is none. Addresses and sizes are bytes. Streams are named by `StreamId` of core/ids.h.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::device {

template <typename Tag>
struct Handle {
  std::uint64_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Handle&) const = default;
};

using BufferId = Handle<struct BufferTag>;            ///< a buffer object: owning, or no-copy
using PagesId = Handle<struct PagesTag>;              ///< physical pages without an address
using DeviceEventId = Handle<struct DeviceEventTag>;  ///< a point on a stream
using CaptureId = Handle<struct CaptureTag>;          ///< a capture that runs or ran
using GraphId = Handle<struct GraphTag>;              ///< captured work, or a conditional's body
using NodeId = Handle<struct NodeTag>;                ///< one captured operation

/// Which device of a backend; the first is 0.
struct DeviceIndex {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const DeviceIndex&) const = default;
};

/// A place in the address space of the process and of the device; a number, since most devices'
/// memory cannot be followed by a pointer.
using Address = std::uint64_t;

/// Where memory lies and who reaches it.
enum class Placement : std::uint8_t {
  device,       ///< the device's own; the host reaches it only where Facts say so
  managed,      ///< moves between host and device as it is touched
  pinned_host,  ///< the host's, never paged out, reached by the device
  host,         ///< the host's
};
inline constexpr std::size_t kPlacementCount = 4;
STRANDLINE_API std::string_view placement_name(Placement placement) noexcept;

/// Bytes [address, address + size), reached through `buffer`. Without a buffer the bytes are
/// reached by address alone: order is then kept as for the memory's own buffer, but queued work
/// does not keep the memory alive.
struct Slice {
  Address address = 0;
  std::uint64_t size = 0;
  BufferId buffer = {};

  constexpr bool operator==(const Slice&) const = default;
};

/// Memory as it was handed out. `size` is what was asked for, not what it costs.
struct Allocation {
  Address address = 0;
  std::uint64_t size = 0;
  BufferId buffer = {};

  [[nodiscard]] constexpr Slice slice() const { return {address, size, buffer}; }
  [[nodiscard]] constexpr Slice slice(std::uint64_t offset, std::uint64_t bytes) const {
    return {address + offset, bytes, buffer};
  }
  constexpr bool operator==(const Allocation&) const = default;
};

/// How a call on a free path ended; it never throws. A refusal is counted and logged once, and
/// what was to be freed stays as it was.
enum class FreeStatus : std::uint8_t {
  freed,    ///< given back, or will be when queued work that binds it is done
  unknown,  ///< no such thing lives: freed before, foreign, or of another device
  refused,  ///< the device would not: an error of its own, or a capture that forbids the call
};

}  // namespace strandline::device

template <typename Tag>
struct std::hash<strandline::device::Handle<Tag>> {
  std::size_t operator()(strandline::device::Handle<Tag> handle) const noexcept {
    return static_cast<std::size_t>(handle.value);
  }
};
