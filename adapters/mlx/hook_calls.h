// SPDX-License-Identifier: Apache-2.0
// How often each hook was reached, up to a thousand: the proof that it took. Not exact under
// contention, exact enough to tell some from none. A count that has ended is only read: one that
// went on would send its cache line to and fro between the program's thread and the streams'.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace strandline::mlx_adapter {

enum class Hook : std::uint8_t {
  allocator,
  desc_init,
  desc_destroy,
  set_data,
  set_data_strided,
  copy_shared_buffer,
  detach,
  eval_cpu,
  vjp,
  jvp,
  value_and_grad,
  primitive_vjp,
  primitive_jvp,
  primitive_vmap,
  compile,
  enqueue,
  malloc,
  free,
};
inline constexpr std::size_t kHookCount = static_cast<std::size_t>(Hook::free) + 1;

inline constexpr std::array<std::string_view, kHookCount> kHookNames = {
    "allocator",     "desc_init",        "desc_destroy",
    "set_data",      "set_data_strided", "copy_shared_buffer",
    "detach",        "eval_cpu",         "vjp",
    "jvp",           "value_and_grad",   "primitive_vjp",
    "primitive_jvp", "primitive_vmap",   "compile",
    "enqueue",       "malloc",           "free"};

inline constexpr std::uint64_t kMostCalls = 1000;

inline constinit std::array<std::atomic<std::uint64_t>, kHookCount> g_hook_calls{};

inline void count_call(Hook hook) noexcept {
  std::atomic<std::uint64_t>& calls = g_hook_calls[static_cast<std::size_t>(hook)];
  const std::uint64_t before = calls.load(std::memory_order_relaxed);
  if (before < kMostCalls) calls.store(before + 1, std::memory_order_relaxed);
}

}  // namespace strandline::mlx_adapter
