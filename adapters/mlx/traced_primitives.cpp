// SPDX-License-Identifier: Apache-2.0
#include "traced_primitives.h"

namespace strandline::mlx_adapter {

ShardedMap<PrimitiveInfo>& primitives() noexcept {
  static ShardedMap<PrimitiveInfo>& table = *new ShardedMap<PrimitiveInfo>;
  return table;
}

ShardedMap<TracebackId>& fused_calls() noexcept {
  static ShardedMap<TracebackId>& table = *new ShardedMap<TracebackId>;
  return table;
}

// Made with the adapter: a child of a fork never waits for a thread that was making them.
[[maybe_unused]] static const bool g_made = (primitives(), fused_calls(), true);

void leave_primitive(const void* primitive) noexcept {
  primitives().with_known(primitive, [](PrimitiveInfo& info) { return --info.nodes == 0; });
}

}  // namespace strandline::mlx_adapter
