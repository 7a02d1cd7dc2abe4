// SPDX-License-Identifier: Apache-2.0
// Hooks of MLX's memory functions, which ask its built-in allocator and not mx::allocator(): with
// one of ours beneath, that answers. Those that may empty a cache are in hooks_allocator.cpp.
#include <stdexcept>

#include "quietly.h"
#include "replacement.h"
#include "strandline/core/error.h"
#include "strandline/core/without_fork.h"

namespace strandline::mlx_adapter {

std::size_t hook_get_active_memory() STRANDLINE_HOOK("_ZN3mlx4core17get_active_memoryEv");
std::size_t hook_get_active_memory() {
  const ReplacingAllocator* ours = replacement();
  return ours != nullptr ? ours->active_memory() : mlx_functions().get_active_memory();
}

std::size_t hook_get_peak_memory() STRANDLINE_HOOK("_ZN3mlx4core15get_peak_memoryEv");
std::size_t hook_get_peak_memory() {
  const ReplacingAllocator* ours = replacement();
  return ours != nullptr ? ours->peak_memory() : mlx_functions().get_peak_memory();
}

void hook_reset_peak_memory() STRANDLINE_HOOK("_ZN3mlx4core17reset_peak_memoryEv");
void hook_reset_peak_memory() {
  ReplacingAllocator* ours = replacement();
  return ours != nullptr ? ours->reset_peak_memory() : mlx_functions().reset_peak_memory();
}

std::size_t hook_get_cache_memory() STRANDLINE_HOOK("_ZN3mlx4core16get_cache_memoryEv");
std::size_t hook_get_cache_memory() {
  const ReplacingAllocator* ours = replacement();
  return ours != nullptr ? ours->cache_memory() : mlx_functions().get_cache_memory();
}

std::size_t hook_get_memory_limit() STRANDLINE_HOOK("_ZN3mlx4core16get_memory_limitEv");
std::size_t hook_get_memory_limit() {
  const ReplacingAllocator* ours = replacement();
  return ours != nullptr ? ours->memory_limit() : mlx_functions().get_memory_limit();
}

// Past the working set MLX answers with std::invalid_argument, which Python sees as ValueError.
std::size_t hook_set_wired_limit(std::size_t bytes)
    STRANDLINE_HOOK("_ZN3mlx4core15set_wired_limitEm");
std::size_t hook_set_wired_limit(std::size_t bytes) {
  ReplacingAllocator* ours = replacement();
  if (ours == nullptr) return mlx_functions().set_wired_limit(bytes);
  try {
    return ours->set_wired_limit(bytes);
  } catch (const InvalidArgument& refused) {
    throw std::invalid_argument(refused.what());
  }
}

// What bounds the limits of an allocator with residency is told as MLX tells it on Metal.
const DeviceInfo& hook_device_info(const mx::Device& device)
    STRANDLINE_HOOK("_ZN3mlx4core11device_infoB5cxx11ERKNS0_6DeviceE");
const DeviceInfo& hook_device_info(const mx::Device& device) {
  const DeviceInfo& theirs = mlx_functions().device_info(device);
  const ReplacingAllocator* ours = replacement();
  if (ours == nullptr || device.type != mx::Device::cpu) return theirs;
  const device::Facts& facts = ours->ours().device().facts();
  if (!facts.supports.residency || ours->ours().name() != "UnifiedAllocator") return theirs;
  const WithoutFork stay;  // a child would wait for the thread that was making it
  static const DeviceInfo& with_limits = *[&] {
    auto* made = new DeviceInfo(theirs);
    made->insert_or_assign("max_recommended_working_set_size",
                           std::size_t{facts.working_set_bytes});
    made->insert_or_assign("max_buffer_length", std::size_t{facts.max_allocation_bytes});
    made->insert_or_assign("memory_size", std::size_t{facts.total_bytes});
    return made;
  }();
  return with_limits;
}

}  // namespace strandline::mlx_adapter
