// SPDX-License-Identifier: Apache-2.0
// Primitives that may meet us again: those made while a function is traced, by mx.compile or a
// transform. An entry goes when the last descriptor leaves its primitive. Any thread.
#pragma once

#include <cstdint>

#include "sharded_map.h"
#include "strandline/core/ids.h"

namespace strandline::mlx_adapter {

struct PrimitiveInfo {
  TracebackId traceback{};  ///< where the first node with it was made
  LabelId label{};
  std::uint32_t outer_frames = 0;  ///< of the traceback, those of the compiled call that traced it
  std::uint32_t nodes = 0;         ///< living descriptors with this primitive
};

/// By primitive. Leaked, as all statics of the adapter: threads outlive their destruction.
ShardedMap<PrimitiveInfo>& primitives() noexcept;
/// By descriptor, of nodes flagged `kFused`: the stack of the compiled call that made them.
ShardedMap<TracebackId>& fused_calls() noexcept;

/// A node no longer refers to its primitive.
void leave_primitive(const void* primitive) noexcept;

}  // namespace strandline::mlx_adapter
