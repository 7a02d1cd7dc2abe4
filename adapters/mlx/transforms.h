// SPDX-License-Identifier: Apache-2.0
// What this thread is in the middle of, beyond the op scope: a call of a compiled function.
#pragma once

#include <cstdint>

#include "strandline/core/ids.h"

namespace strandline::mlx_adapter {

/// A call of a function made by mx.compile. While it traces, nodes are made by the user's lines;
/// while it replays, all nodes are made by this call, and their lines are those of the trace.
class CompiledCall {
 public:
  CompiledCall() noexcept;
  ~CompiledCall();
  CompiledCall(const CompiledCall&) = delete;
  CompiledCall& operator=(const CompiledCall&) = delete;

  /// Innermost on this thread, null outside.
  static const CompiledCall* current() noexcept;

  TracebackId calling() const noexcept { return calling_; }
  std::uint32_t depth() const noexcept { return depth_; }  ///< frames of the calling stack

 private:
  const CompiledCall* previous_;
  TracebackId calling_{};
  std::uint32_t depth_ = 0;
};

}  // namespace strandline::mlx_adapter
