// SPDX-License-Identifier: Apache-2.0
#include "nodes.h"

namespace strandline::mlx_adapter {

ShardedMap<NodeInfo>& nodes() noexcept {
  static ShardedMap<NodeInfo>& table = *new ShardedMap<NodeInfo>;
  return table;
}

ShardedMap<PrimitiveInfo>& primitives() noexcept {
  static ShardedMap<PrimitiveInfo>& table = *new ShardedMap<PrimitiveInfo>;
  return table;
}

void leave_primitive(const void* primitive) noexcept {
  primitives().with_known(primitive, [](PrimitiveInfo& info) { return --info.nodes == 0; });
}

}  // namespace strandline::mlx_adapter
