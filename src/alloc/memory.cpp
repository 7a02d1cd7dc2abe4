// SPDX-License-Identifier: Apache-2.0
// MLX's functions, each one call of the default allocator.
#include "strandline/alloc/memory.h"

#include "strandline/alloc/default_allocator.h"

namespace strandline::alloc {

std::uint64_t get_active_memory() {
  return default_allocator().active_bytes();
}

std::uint64_t get_peak_memory() {
  return default_allocator().statistics().peak_active_bytes;
}

void reset_peak_memory() {
  default_allocator().reset_peaks();
}

std::uint64_t get_cache_memory() {
  const Statistics now = default_allocator().statistics();
  return now.cached_bytes - now.spare_bytes;
}

std::uint64_t get_memory_limit() {
  return default_allocator().limits().memory.bytes;
}

std::uint64_t set_memory_limit(std::uint64_t bytes, LimitRule rule) {
  return default_allocator().set_memory_limit(bytes, rule).bytes;
}

std::uint64_t set_cache_limit(std::uint64_t bytes) {
  return default_allocator().set_cache_limit(bytes);
}

std::uint64_t set_wired_limit(std::uint64_t bytes) {
  return default_allocator().set_wired_limit(bytes);
}

void clear_cache() {
  default_allocator().empty_cache();
}

}  // namespace strandline::alloc
