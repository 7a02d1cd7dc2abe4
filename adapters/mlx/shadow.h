// SPDX-License-Identifier: Apache-2.0
// Shadow tables: a primitive that has been seen points to a copy of its virtual table, in which the
// slots of eval_cpu, jvp, vjp and vmap lead through the adapter. Offset and RTTI slots are copied
// too, so that dynamic_cast and typeid see no difference.
//
//   [ShadowTable | offset-to-top | RTTI | eval_cpu eval_gpu jvp vjp vmap name … ]
//                                         ^ what the primitive's table pointer points to
#pragma once

#include <atomic>
#include <cstdint>

#include "mlx_api.h"
#include "strandline/core/ids.h"

namespace strandline::mlx_adapter {

/// Slots by the order of declaration in MLX's Primitive.
enum class Slot : std::uint8_t { eval_cpu = 0, eval_gpu = 1, jvp = 2, vjp = 3, vmap = 4 };

/// The op of a class whose primitives all have one name, a constant: told by the name's address
/// alone. `generation` is that of the table of names. Any thread.
class NamedOp {
 public:
  OpId find(const char* name, std::uint32_t generation) const noexcept {
    if (name_.load(std::memory_order_relaxed) != name) return {};
    const std::uint64_t known = op_.load(std::memory_order_relaxed);
    return {known >> 32 == generation ? static_cast<std::uint32_t>(known) : 0};
  }
  /// Keeps nothing where the name is another than the first, or may change.
  void keep(const char* name, std::uint32_t generation, OpId op) noexcept;

 private:
  std::atomic<const char*> name_{nullptr};  // set once
  std::atomic<std::uint64_t> op_{0};        // of that name: generation << 32 | id
};

/// Facts of one class of primitives, and its real functions.
struct ShadowTable {
  void* const* real = nullptr;  ///< the class's own table
  bool is_compiled = false;     ///< mlx::core::Compiled
  mutable NamedOp op{};

  void* real_slot(Slot slot) const noexcept { return real[static_cast<std::size_t>(slot)]; }
};

/// The facts of a primitive that is shadowed, null for one that is not.
const ShadowTable* shadow_of(const mx::Primitive& primitive) noexcept;
/// Puts a shadow in front of the primitive's table; null when the arena for shadows is full.
const ShadowTable* put_shadow(mx::Primitive& primitive) noexcept;

/// The functions that the slots of a shadow lead to, in hooks_primitive.cpp.
void shadow_eval_cpu(mx::Primitive* self, const Arrays& inputs, Arrays& outputs);
Arrays shadow_jvp(mx::Primitive* self, const Arrays& primals, const Arrays& tangents,
                  const std::vector<int>& argnums);
std::pair<Arrays, std::vector<int>> shadow_vmap(mx::Primitive* self, const Arrays& inputs,
                                                const std::vector<int>& axes);
Arrays shadow_vjp(mx::Primitive* self, const Arrays& primals, const Arrays& cotangents,
                  const std::vector<int>& argnums, const Arrays& outputs);

}  // namespace strandline::mlx_adapter
