// SPDX-License-Identifier: Apache-2.0
// Room that will be filled from its start: the system is asked for large pages, so that filling it
// costs one fault for 2 MB instead of 512. Memory that is never written to is never given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace strandline::snapshot {

/// Of less room than this the last, half-filled page would be too much.
inline constexpr std::size_t kLeastForLargePages = std::size_t{16} << 20;

/// A hint: nothing happens where the system does not take it.
inline void want_large_pages(void* room, std::size_t bytes) noexcept {
  if (bytes < kLeastForLargePages) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(room) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(room) + bytes) / page * page;
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

template <typename Value>
void reserve_large(std::vector<Value>& values, std::size_t count) {
  values.reserve(count);
  want_large_pages(values.data(), values.capacity() * sizeof(Value));
}

}  // namespace strandline::snapshot
