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
namespace {

constexpr std::size_t kPrefixSlots = 2;    // offset-to-top and RTTI
constexpr std::size_t kVirtualSlots = 24;  // MLX's primitives have 10 to 12
constexpr std::size_t kArenaTables = 1024;
constexpr std::size_t kRecent = 64;  // classes found without a lock

struct Entry {
  ShadowTable facts;
  void* prefix[kPrefixSlots] = {};
  void* slots[kVirtualSlots] = {};
};

// Constant and trivially destroyed: nodes are made and die to the end of the process.
constinit std::array<Entry, kArenaTables> g_entries{};
constinit std::array<std::atomic<Entry*>, kRecent> g_recent{};

struct Arena {
  Mutex mutex;
  FlatMap<Entry*> by_real STRANDLINE_GUARDED_BY(mutex);
  std::size_t used STRANDLINE_GUARDED_BY(mutex) = 0;
};

Arena& arena() noexcept {
  static Arena& instance = *new Arena;
  return instance;
}
// Made with the adapter: a child of a fork never waits for a thread that was making it.
[[maybe_unused]] const Arena& g_arena = arena();

std::atomic<Entry*>& recent_of(void** real) noexcept {
  return g_recent[mix_bits(reinterpret_cast<std::uintptr_t>(real)) % kRecent];
}

void**& table_pointer(mx::Primitive& primitive) noexcept {
  return *reinterpret_cast<void***>(&primitive);
}

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

void fill(Entry& entry, mx::Primitive& primitive, void** real) noexcept {
  entry.facts.real = real;
  entry.facts.is_compiled = std::string_view(typeid(primitive).name()) == "N3mlx4core8CompiledE";
  std::memcpy(entry.prefix, real - kPrefixSlots, sizeof entry.prefix);
  const std::size_t words = std::min(kVirtualSlots, readable_words(real));
  std::memcpy(entry.slots, real, words * sizeof(void*));
  entry.slots[static_cast<std::size_t>(Slot::eval_cpu)] = address_of(shadow_eval_cpu);
  entry.slots[static_cast<std::size_t>(Slot::jvp)] = address_of(shadow_jvp);
  entry.slots[static_cast<std::size_t>(Slot::vjp)] = address_of(shadow_vjp);
  entry.slots[static_cast<std::size_t>(Slot::vmap)] = address_of(shadow_vmap);
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

const ShadowTable* shadow_of(const mx::Primitive& primitive) noexcept {
  const auto at =
      reinterpret_cast<std::uintptr_t>(table_pointer(const_cast<mx::Primitive&>(primitive)));
  const std::uintptr_t inside = at - reinterpret_cast<std::uintptr_t>(g_entries.data());
  if (inside >= sizeof(g_entries)) return nullptr;
  return &g_entries[inside / sizeof(Entry)].facts;
}

const ShadowTable* put_shadow(mx::Primitive& primitive) noexcept {
  void** real = table_pointer(primitive);
  std::atomic<Entry*>& recent = recent_of(real);
  // An entry does not change once it is filled: one that is found needs no lock.
  if (Entry* known = recent.load(std::memory_order_acquire);
      known != nullptr && known->facts.real == real) {
    table_pointer(primitive) = known->slots;
    return &known->facts;
  }
  Arena& shadows = arena();
  const LockGuard guard(shadows.mutex);
  Entry*& entry = shadows.by_real[reinterpret_cast<std::uint64_t>(real)];
  if (entry == nullptr) {
    if (shadows.used == kArenaTables) return nullptr;
    entry = &g_entries[shadows.used++];
    fill(*entry, primitive, real);
  }
  recent.store(entry, std::memory_order_release);
  table_pointer(primitive) = entry->slots;
  return &entry->facts;
}

}  // namespace strandline::mlx_adapter
