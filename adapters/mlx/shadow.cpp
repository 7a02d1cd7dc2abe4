// SPDX-License-Identifier: Apache-2.0
// Shadows are made once a class and live in one arena, so that "is it shadowed" is a comparison of
// addresses.
#include "shadow.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>
#include <typeinfo>

#include <dlfcn.h>
#include <link.h>

#include "strandline/core/flat_map.h"
#include "strandline/core/mutex.h"
#include "strandline/core/without_fork.h"

namespace strandline::mlx_adapter {

constinit std::array<detail::Shadow, detail::kArenaTables> detail::g_shadows{};
constinit std::array<std::atomic<detail::Shadow*>, detail::kRecent> detail::g_recent{};

namespace {

using detail::Shadow;

struct Arena {
  Mutex mutex;
  FlatMap<Shadow*> by_real STRANDLINE_GUARDED_BY(mutex);
  std::size_t used STRANDLINE_GUARDED_BY(mutex) = 0;
};

Arena& arena() noexcept {
  static Arena& instance = *new Arena;
  return instance;
}
// Made with the adapter: a child of a fork never waits for a thread that was making it.
[[maybe_unused]] const Arena& g_arena = arena();

struct LoadedSegment {
  std::uintptr_t end = 0;
  bool is_constant = false;  // not writable
};

// The loaded segment that holds the address; all 0 when none does.
LoadedSegment segment_of(const void* at) noexcept {
  struct Search {
    std::uintptr_t address;
    LoadedSegment found;
  } search{reinterpret_cast<std::uintptr_t>(at), {}};
  const WithoutFork stay;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          const std::uintptr_t end = begin + segment.p_memsz;
          if (segment.p_type == PT_LOAD && wanted.address >= begin && wanted.address < end) {
            wanted.found = {.end = end, .is_constant = (segment.p_flags & PF_W) == 0};
            return 1;
          }
        }
        return 0;
      },
      &search);
  return search.found;
}

// Words that can be read from `from` on before the end of the loaded segment that holds it. A table
// at the very end of a segment is shorter than what is copied of the others.
std::size_t readable_words(const void* from) noexcept {
  const std::uintptr_t end = segment_of(from).end;
  return end == 0 ? 0 : (end - reinterpret_cast<std::uintptr_t>(from)) / sizeof(void*);
}

template <typename Function>
void* address_of(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

void fill(Shadow& shadow, mx::Primitive& primitive, void** real) noexcept {
  shadow.facts.real = real;
  shadow.facts.is_compiled = std::string_view(typeid(primitive).name()) == "N3mlx4core8CompiledE";
  std::memcpy(shadow.prefix, real - detail::kPrefixSlots, sizeof shadow.prefix);
  const std::size_t words = std::min(detail::kVirtualSlots, readable_words(real));
  std::memcpy(shadow.slots, real, words * sizeof(void*));
  shadow.slots[static_cast<std::size_t>(Slot::eval_cpu)] = address_of(shadow_eval_cpu);
  shadow.slots[static_cast<std::size_t>(Slot::jvp)] = address_of(shadow_jvp);
  shadow.slots[static_cast<std::size_t>(Slot::vjp)] = address_of(shadow_vjp);
  shadow.slots[static_cast<std::size_t>(Slot::vmap)] = address_of(shadow_vmap);
}

constexpr char kVaries[] = "";

}  // namespace

void NamedOp::keep(const char* name, std::uint32_t generation, OpId op) noexcept {
  const char* known = name_.load(std::memory_order_relaxed);
  if (known == nullptr) {
    const char* first = segment_of(name).is_constant ? name : kVaries;
    if (name_.compare_exchange_strong(known, first, std::memory_order_relaxed)) known = first;
  }
  if (known != name) return;
  op_.store(std::uint64_t{generation} << 32 | op.value, std::memory_order_relaxed);
}

const ShadowTable* detail::find_or_make_shadow(mx::Primitive& primitive) noexcept {
  void** const real = table_pointer(primitive);
  Arena& shadows = arena();
  const LockGuard guard(shadows.mutex);
  Shadow*& shadow = shadows.by_real[reinterpret_cast<std::uint64_t>(real)];
  if (shadow == nullptr) {
    if (shadows.used == kArenaTables) return nullptr;
    shadow = &g_shadows[shadows.used++];
    fill(*shadow, primitive, real);
  }
  recent_of(real).store(shadow, std::memory_order_release);
  table_pointer(primitive) = shadow->slots;
  return &shadow->facts;
}

}  // namespace strandline::mlx_adapter
