// SPDX-License-Identifier: Apache-2.0
// What the simulation saw work do that a real device would have answered with garbage or a crash,
// and the faults that a test asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strandline/core/export.h"
#include "strandline/device/calls.h"
#include "strandline/device/types.h"

namespace strandline::sim {

enum class FindingKind : std::uint8_t {
  read_of_freed,  ///< the bytes belong to nobody; what is read is poison
  write_to_freed,
  read_of_unwritten,  ///< nothing wrote the bytes since they were allocated
  no_access,          ///< not mapped, not made accessible to the device, or past the end
  unordered,          ///< conflicts with queued work, and nothing orders the two
};
[[nodiscard]] STRANDLINE_API std::string_view finding_name(FindingKind kind) noexcept;

struct Finding {
  FindingKind kind = FindingKind::no_access;
  std::string operation;
  std::string other;  ///< the operation it is unordered with
  StreamId stream;
  device::Address address = 0;  ///< the first byte concerned
  std::uint64_t size = 0;

  bool operator==(const Finding&) const = default;
};

/// One line of text.
[[nodiscard]] STRANDLINE_API std::string describe(const Finding& finding);

enum class FaultRepeat : std::uint8_t { once, from_then_on };
enum class FaultError : std::uint8_t {
  fitting,  ///< OutOfMemory for calls that obtain memory or addresses, DeviceError for others
  out_of_memory,
  device_error,
};

/// The n-th call of a kind from now on fails, 1 being the next. On free paths the call is refused;
/// for Call::run the work fails, which the next wait reports.
struct Fault {
  device::Call call = device::Call::allocate;
  std::uint64_t nth = 1;
  FaultRepeat repeat = FaultRepeat::once;
  FaultError error = FaultError::fitting;
};

}  // namespace strandline::sim
