// SPDX-License-Identifier: Apache-2.0
// How allocators choose the limits they start with.
#pragma once

#include <cstdint>

#include "strandline/device/facts.h"

namespace strandline::alloc {

constexpr std::uint64_t share(std::uint64_t bytes, std::uint64_t percent) noexcept {
  return bytes / 100 * percent + bytes % 100 * percent / 100;
}

/// The most buffer objects: what the device says, else what macOS allows a process.
constexpr std::uint64_t kUsualBufferCap = 499'000;
inline std::uint64_t buffer_cap(const device::Facts& facts) noexcept {
  return facts.max_buffers == 0 ? kUsualBufferCap : facts.max_buffers;
}

}  // namespace strandline::alloc
