// SPDX-License-Identifier: Apache-2.0
// An MLX array in the recorder's words: layout, op, holder, the address of its block.
#pragma once

#include <cstdint>

#include "mlx_api.h"
#include "nodes.h"
#include "shadow.h"
#include "strandline/core/ids.h"
#include "strandline/record/recorder.h"

namespace strandline::mlx_adapter {

inline ArrayKey key_of(const mx::array& array) noexcept {
  return {array.id()};
}

/// None when the layout table is full.
LayoutId layout_of(const mx::array& array);
/// By the name the primitive gives itself; for a fused one that is the list of its parts.
OpId op_of(mx::Primitive& primitive, const ShadowTable* shadow = nullptr);
/// The op of arrays made from data, not by a primitive.
OpId leaf_op();

/// Start of the memory behind a buffer, as the program sees it; 0 for a null buffer.
std::uint64_t payload_of(mx::allocator::Buffer buffer) noexcept;

/// What an array would be charged as: `traceback` and its node's ids, else those of the open scope.
record::Holder holder_of(const mx::array& array, Node node, TracebackId traceback);

/// Layout of the first of the arrays at `outputs` that has no data and needs `bytes`.
LayoutId layout_of_unbound_output(void* outputs, std::uint64_t bytes) noexcept;

}  // namespace strandline::mlx_adapter
