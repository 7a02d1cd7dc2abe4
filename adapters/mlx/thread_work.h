// SPDX-License-Identifier: Apache-2.0
// What one thread is in the middle of, beyond the op scope, and what it keeps at hand so that the
// tables all threads share are asked rarely.
#pragma once

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::mlx_adapter {

class CompiledCall;
class ThreadCaches;

/// The leaf whose constructor this thread is in: made, its memory not yet asked for or bound.
struct PendingLeaf {
  const void* descriptor = nullptr;
  TracebackId traceback{};
};

/// The layout that an allocation was told to be for. Mostly the memory goes to that very array
/// next; good while its primitive is being evaluated, which keeps the array alive.
struct ToldLayout {
  const void* descriptor = nullptr;
  LayoutId layout{};
};

/// Only its own thread touches it.
struct ThreadWork {
  PendingLeaf leaf{};
  ToldLayout told{};
  /// The operation that mx.vmap is making its batched form of: what its nodes are charged to, since
  /// the line that called vmap made none of them. None outside.
  TracebackId vmapped_operation{};
  const CompiledCall* compiled_call = nullptr;  ///< innermost, null outside
  ThreadCaches* caches = nullptr;               ///< made when first needed
};

extern STRANDLINE_FAST_TLS constinit thread_local ThreadWork t_work;

}  // namespace strandline::mlx_adapter
