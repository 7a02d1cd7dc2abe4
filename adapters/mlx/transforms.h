// SPDX-License-Identifier: Apache-2.0
// A call of a compiled function that this thread is in.
#pragma once

#include <cstdint>
#include <optional>

#include "mlx_api.h"
#include "strandline/core/ids.h"
#include "strandline/record/native_stack.h"
#include "thread_work.h"

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
  static const CompiledCall* current() noexcept { return t_work.compiled_call; }

  TracebackId calling() const noexcept { return calling_; }
  std::uint32_t depth() const noexcept { return depth_; }  ///< frames of the calling stack

 private:
  const CompiledCall* previous_;
  TracebackId calling_{};
  std::uint32_t depth_ = 0;
};

/// Open while MLX runs a transform that calls back into Python, so that stacks of Python and C++
/// can be told in the order of the calls. Only where such stacks are recorded: MLX keeps no frame
/// pointers, and unwinding it costs more than a node.
class TransformEntry {
 public:
  TransformEntry() noexcept;

 private:
  std::optional<record::BindingEntry> entry_{};
};

/// `function` as a transform gets it: each call of it is a callback of the transform's entry.
ArraysFunction with_callback_scope(const ArraysFunction& function);

}  // namespace strandline::mlx_adapter
