// SPDX-License-Identifier: Apache-2.0
// Shadow tables: a primitive that has been seen points to a copy of its virtual table, in which the
// slots of eval_cpu, jvp, vjp and vmap lead through the adapter. Offset and RTTI slots are copied
// too, so that dynamic_cast and typeid see no difference.
//
//   [ShadowTable | offset-to-top | RTTI | eval_cpu eval_gpu jvp vjp vmap name … ]
//                                         ^ what the primitive's table pointer points to
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mlx_api.h"
#include "strandline/core/flat_map.h"
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

namespace detail {

inline constexpr std::size_t kPrefixSlots = 2;    // offset-to-top and RTTI
inline constexpr std::size_t kVirtualSlots = 24;  // MLX's primitives have 10 to 12
inline constexpr std::size_t kArenaTables = 1024;
inline constexpr std::size_t kRecent = 64;  // classes found without a lock

struct Shadow {
  ShadowTable facts;
  void* prefix[kPrefixSlots] = {};
  void* slots[kVirtualSlots] = {};
};

// Constant and trivially destroyed: nodes are made and die to the end of the process.
extern constinit std::array<Shadow, kArenaTables> g_shadows;
extern constinit std::array<std::atomic<Shadow*>, kRecent> g_recent;

inline void**& table_pointer(mx::Primitive& primitive) noexcept {
  return *reinterpret_cast<void***>(&primitive);
}
inline std::atomic<Shadow*>& recent_of(void** real) noexcept {
  return g_recent[mix_bits(reinterpret_cast<std::uintptr_t>(real)) % kRecent];
}
const ShadowTable* find_or_make_shadow(mx::Primitive& primitive) noexcept;

}  // namespace detail

/// The facts of a primitive that is shadowed, null for one that is not.
inline const ShadowTable* shadow_of(const mx::Primitive& primitive) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(
      detail::table_pointer(const_cast<mx::Primitive&>(primitive)));
  const auto first = reinterpret_cast<std::uintptr_t>(detail::g_shadows.data());
  if (at - first >= sizeof(detail::g_shadows)) return nullptr;
  const std::uintptr_t shadow = at - offsetof(detail::Shadow, slots);
  return &reinterpret_cast<const detail::Shadow*>(shadow)->facts;
}

/// Puts a shadow in front of the primitive's table; null when the arena for shadows is full.
inline const ShadowTable* put_shadow(mx::Primitive& primitive) noexcept {
  void**& table = detail::table_pointer(primitive);
  // A shadow does not change once it is filled: one that is found needs no lock.
  detail::Shadow* const known = detail::recent_of(table).load(std::memory_order_acquire);
  if (known == nullptr || known->facts.real != table) [[unlikely]] {
    return detail::find_or_make_shadow(primitive);
  }
  table = known->slots;
  return &known->facts;
}

/// The functions that the slots of a shadow lead to, in hooks_primitive.cpp.
void shadow_eval_cpu(mx::Primitive* self, const Arrays& inputs, Arrays& outputs);
Arrays shadow_jvp(mx::Primitive* self, const Arrays& primals, const Arrays& tangents,
                  const std::vector<int>& argnums);
std::pair<Arrays, std::vector<int>> shadow_vmap(mx::Primitive* self, const Arrays& inputs,
                                                const std::vector<int>& axes);
Arrays shadow_vjp(mx::Primitive* self, const Arrays& primals, const Arrays& cotangents,
                  const std::vector<int>& argnums, const Arrays& outputs);

}  // namespace strandline::mlx_adapter
