// SPDX-License-Identifier: Apache-2.0
// A framework, as it is shipped, whose memory can come from one of our allocators. Its adapter
// implements this beside record::Adapter. Any thread.
#pragma once

#include <memory>
#include <string>

#include "strandline/alloc/allocator.h"
#include "strandline/core/export.h"

namespace strandline::alloc {

class STRANDLINE_API Framework {
 public:
  virtual ~Framework();

  /// From now on the framework's memory comes from `allocator`, which is kept for ever, and its own
  /// memory functions answer for it. InvalidArgument for null, after the framework has had memory
  /// of its own, and for a second allocator.
  virtual void use_allocator(std::shared_ptr<Allocator> allocator) = 0;
  /// What use_allocator was given; null while the framework uses its own.
  [[nodiscard]] virtual Allocator* used_allocator() const noexcept = 0;
  /// Why the framework keeps its own allocator although another was asked for; empty otherwise.
  /// Known once the framework has asked for memory.
  [[nodiscard]] virtual std::string refusal() const = 0;
};

}  // namespace strandline::alloc
