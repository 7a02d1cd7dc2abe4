// SPDX-License-Identifier: Apache-2.0
// An allocator as Python holds it: shared with whoever made it the default or put it beneath a
// framework.
#pragma once

#include <memory>

#include "strandline/alloc/allocator.h"

namespace strandline::python {

struct AllocatorHandle {
  std::shared_ptr<alloc::Allocator> allocator;

  alloc::Allocator* operator->() const noexcept { return allocator.get(); }
};

}  // namespace strandline::python
