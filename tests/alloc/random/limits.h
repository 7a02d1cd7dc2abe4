// SPDX-License-Identifier: Apache-2.0
// The operations that set a limit or a peak, each of which says what was set before.
#pragma once

#include "alloc/random/model.h"
#include "alloc/random/operation.h"
#include "strandline/alloc/allocator.h"

namespace strandline::alloc::random {

/// All but the wired limit, which the device may refuse.
inline void set_limit(const Operation& operation, Allocator& allocator, const Limits& before,
                      Model& model) {
  switch (operation.kind) {
    case Kind::cache_limit:
      must_equal(allocator.set_cache_limit(operation.bytes), before.cache_bytes, "old limit");
      break;
    case Kind::memory_limit: {
      const auto rule = operation.extra == 1 ? LimitRule::hard : LimitRule::guideline;
      must(allocator.set_memory_limit(operation.bytes, rule) == before.memory,
           "another memory limit was set before");
      break;
    }
    case Kind::buffer_limit:
      must_equal(allocator.set_buffer_limit(operation.bytes), before.buffers, "old limit");
      break;
    case Kind::empty_cache:
      allocator.empty_cache();
      break;
    default:
      allocator.reset_peaks(operation.extra == 1 ? PeakReset::to_zero : PeakReset::to_current);
      model.peak = operation.extra == 1 ? 0 : model.active;
  }
}

}  // namespace strandline::alloc::random
