// SPDX-License-Identifier: Apache-2.0
// Wrong frees: of what is foreign, was freed before, lies inside a block, or came by another call.
#pragma once

#include <cstddef>

#include "alloc/random/model.h"
#include "alloc/random/operation.h"
#include "strandline/alloc/allocator.h"

namespace strandline::alloc::random {

struct WrongFree {
  Buffer buffer{};
  bool release = false;  ///< by the call that is not the block's
};

/// The one that `operation` asks for, as far as its slot has a block for it; `stale` was freed.
inline WrongFree wrong_free(const Operation& operation, const Model& model, Buffer stale,
                            const void* foreign, Allocator* allocator) {
  const Block& slot = model.slots[operation.slot % kSlots];
  const auto inside = [&](std::size_t offset) {
    return Buffer(static_cast<std::byte*>(slot.buffer.ptr()) + offset, allocator);
  };
  if (operation.extra == 1 && stale && !model.is_live(stale.address())) return {.buffer = stale};
  if (Model::holds(slot)) {
    if (operation.extra == 2) return {.buffer = inside(1)};
    if (operation.extra == 3) return {.buffer = slot.buffer, .release = !slot.is_wrapped};
    if (operation.extra == 4 && slot.size > 128) return {.buffer = inside(128)};
  }
  return {.buffer = Buffer(foreign, allocator)};
}

}  // namespace strandline::alloc::random
