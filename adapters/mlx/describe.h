// SPDX-License-Identifier: Apache-2.0
// An MLX array in the recorder's words: layout, op, holder, the address of its block.
#pragma once

#include <atomic>
#include <cstdint>

#include "mlx_api.h"
#include "nodes.h"
#include "shadow.h"
#include "strandline/core/ids.h"
#include "strandline/record/recorder.h"
#include "thread_caches.h"
#include "thread_work.h"

namespace strandline::mlx_adapter {

inline ArrayKey key_of(const mx::array& array) noexcept {
  return {array.id()};
}

namespace detail {
/// The op of leaves once it has a number: generation of the table << 32 | id.
extern constinit std::atomic<std::uint64_t> g_leaf_op;
/// How far behind a buffer's pointer this MLX keeps the payload, the same for all; 0: not asked
/// yet.
extern constinit std::atomic<std::uint64_t> g_header_bytes;
std::uint64_t ask_for_header(mx::allocator::Buffer buffer) noexcept;
LayoutId enter_layout(const mx::array& array);
OpId find_op(const char* name, std::uint32_t generation, const ShadowTable* shadow);
OpId enter_leaf_op();
}  // namespace detail

/// Of the tables of names and layouts.
inline std::uint32_t table_generation() noexcept {
  return record::recorder().tables().generation.load(std::memory_order_acquire);
}

/// None when the layout table is full.
STRANDLINE_ALWAYS_INLINE LayoutId layout_of(const mx::array& array) {
  if (ThreadCaches* const caches = t_work.caches) [[likely]] {
    const LayoutId known = caches->layouts.find(array.shape(), array.dtype(), table_generation());
    if (known) [[likely]] {
      return known;
    }
  }
  return detail::enter_layout(array);
}
/// By the name the primitive gives itself; for a fused one that is the list of its parts.
STRANDLINE_ALWAYS_INLINE OpId op_of(mx::Primitive& primitive, const ShadowTable* shadow = nullptr) {
  const std::uint32_t generation = table_generation();
  const char* const name = primitive.name();
  if (shadow != nullptr) {
    if (const OpId known = shadow->op.find(name, generation)) [[likely]] {
      return known;
    }
  }
  return detail::find_op(name, generation, shadow);
}
/// The op of arrays made from data, not by a primitive.
STRANDLINE_ALWAYS_INLINE OpId leaf_op() {
  const std::uint64_t known = detail::g_leaf_op.load(std::memory_order_relaxed);
  const OpId op{static_cast<std::uint32_t>(known)};
  return op && known >> 32 == table_generation() ? op : detail::enter_leaf_op();
}

/// Start of the memory behind a buffer, as the program sees it; 0 for a null buffer.
STRANDLINE_ALWAYS_INLINE std::uint64_t payload_of(mx::allocator::Buffer buffer) noexcept {
  const auto at = reinterpret_cast<std::uint64_t>(buffer.ptr());
  if (at == 0) return 0;
  const std::uint64_t header = detail::g_header_bytes.load(std::memory_order_relaxed);
  return at + (header != 0 ? header : detail::ask_for_header(buffer));
}

/// What an array would be charged as: `traceback` and its node's ids, else those of the open scope.
record::Holder holder_of(const mx::array& array, Node node, TracebackId traceback);

/// Layout of the first of the arrays at `outputs` that has no data and needs `bytes`.
LayoutId layout_of_unbound_output(void* outputs, std::uint64_t bytes) noexcept;

}  // namespace strandline::mlx_adapter
