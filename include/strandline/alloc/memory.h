// SPDX-License-Identifier: Apache-2.0
// MLX's memory functions, by their names, of the default allocator (default_allocator.h). Bytes.
// Setters return what was set before. Threads: any. What they do stands with Allocator.
#pragma once

#include <cstdint>

#include "strandline/alloc/types.h"
#include "strandline/core/export.h"

namespace strandline::alloc {

/// Handed out, by capacity; not what is cached.
[[nodiscard]] STRANDLINE_API std::uint64_t get_active_memory();
/// The largest active since the start or reset_peak_memory().
[[nodiscard]] STRANDLINE_API std::uint64_t get_peak_memory();
STRANDLINE_API void reset_peak_memory();
/// Whole buffers kept for reuse; without the free slots of small heaps, which are never "cached" to
/// MLX.
[[nodiscard]] STRANDLINE_API std::uint64_t get_cache_memory();
[[nodiscard]] STRANDLINE_API std::uint64_t get_memory_limit();
STRANDLINE_API std::uint64_t set_memory_limit(std::uint64_t bytes,
                                              LimitRule rule = LimitRule::guideline);
/// Trims at once; 0 keeps nothing.
STRANDLINE_API std::uint64_t set_cache_limit(std::uint64_t bytes);
/// InvalidArgument past the device's working set; 0 where the device has no residency.
STRANDLINE_API std::uint64_t set_wired_limit(std::uint64_t bytes);
STRANDLINE_API void clear_cache();

}  // namespace strandline::alloc
