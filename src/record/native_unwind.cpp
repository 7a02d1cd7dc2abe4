// SPDX-License-Identifier: Apache-2.0
// The whole stack, where no entry says that every frame keeps its frame pointer. libunwind is
// loaded when it is first needed and kept to itself (RTLD_LOCAL): a program that is linked with it
// gets its `backtrace` and `_Unwind_*` in place of those it was built for, exceptions included.
#include <algorithm>
#include <atomic>
#include <new>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include "native_walk.h"
#include "strandline/core/without_fork.h"

namespace strandline::record {
namespace {

using Unwind = int(void**, int);

struct Unwinder {
  Unwind* unwind = &backtrace;
  const char* name = "compiler's unwinder";
};

Unwinder find_unwinder() noexcept {
  const WithoutFork stay;
  for (const char* library : {"libunwind.so.8", "libunwind.so"}) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (void* function = dlsym(handle, "unw_backtrace")) {
      return {reinterpret_cast<Unwind*>(function), "libunwind"};
    }
    dlclose(handle);
  }
  return {};
}

// Two threads may both look for it and find the same; a child of a fork never waits for one.
const Unwinder& unwinder() noexcept {
  static constinit std::atomic<const Unwinder*> known{nullptr};
  if (const Unwinder* found = known.load(std::memory_order_acquire)) return *found;
  static constexpr Unwinder kCompilers{};
  const auto* found = new (std::nothrow) Unwinder(find_unwinder());
  if (found == nullptr) return kCompilers;
  known.store(found, std::memory_order_release);
  return *found;
}

std::atomic<std::uintptr_t> g_runtime_begin{0};
std::atomic<std::uintptr_t> g_runtime_end{0};

struct ModuleSearch {
  std::uintptr_t address;
  std::uintptr_t begin = 0;  // of the loaded segments of the module it lies in
  std::uintptr_t end = 0;
};

int visit_module(dl_phdr_info* info, std::size_t /*size*/, void* data) noexcept {
  auto& search = *static_cast<ModuleSearch*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, info->dlpi_addr + segment.p_vaddr);
    end = std::max<std::uintptr_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (search.address < begin || search.address >= end) return 0;
  search.begin = begin;
  search.end = end;
  return 1;
}

// Frames of the capture itself come first; they end at the return address stored in `frame`.
std::size_t first_outward_of(const void* frame, std::span<void* const> addresses) noexcept {
  const void* wanted = static_cast<void* const*>(frame)[1];
  const auto found = std::ranges::find(addresses, wanted);
  return found == addresses.end() ? 0 : static_cast<std::size_t>(found - addresses.begin());
}

}  // namespace

void unwind_all(const void* frame, ReturnAddresses& addresses) noexcept {
  constexpr int kOwnFrames = 16;
  std::array<void*, kMaxFrames + kOwnFrames> found;
  const Unwinder& by = unwinder();
  const int count = [&] {
    const WithoutFork stay;  // it asks the dynamic loader about code it has not met
    return by.unwind(found.data(), static_cast<int>(found.size()));
  }();
  if (count <= 0) return;
  const std::span<void* const> all(found.data(), static_cast<std::size_t>(count));
  const std::uintptr_t begin = g_runtime_begin.load(std::memory_order_relaxed);
  const std::uintptr_t size = g_runtime_end.load(std::memory_order_relaxed) - begin;
  for (void* const address : all.subspan(first_outward_of(frame, all))) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    if (number - begin < size) return;
    if (number != 0) addresses.add(number);
  }
  if (all.size() == found.size()) addresses.truncated = true;
}

void set_language_runtime(const void* address_in_it) noexcept {
  ModuleSearch search{.address = reinterpret_cast<std::uintptr_t>(address_in_it)};
  {
    const WithoutFork stay;
    dl_iterate_phdr(&visit_module, &search);
  }
  g_runtime_begin.store(search.begin, std::memory_order_relaxed);
  g_runtime_end.store(search.end, std::memory_order_relaxed);
}

const char* native_unwinder() noexcept {
  return unwinder().name;
}

bool pin_module(std::uintptr_t address) noexcept {
  const WithoutFork stay;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0) return false;
  // The program itself cannot be opened by its name, and is never unloaded.
  dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NODELETE | RTLD_LAZY);
  return true;
}

}  // namespace strandline::record
