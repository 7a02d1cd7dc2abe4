// SPDX-License-Identifier: Apache-2.0
// The wall between the adapter and the program, and what the hooks share.
#pragma once

#include <atomic>
#include <exception>

#include "mlx_api.h"
#include "strandline/core/ids.h"
#include "strandline/record/recorder.h"

/// A function that stands in for the MLX symbol of this name.
#define STRANDLINE_HOOK(symbol) __asm__(symbol) __attribute__((visibility("default")))

namespace strandline::mlx_adapter {

/// Set by `attach`: until then the hooks count their calls and do nothing else, so that what probes
/// them leaves no trace in the record. Read by every hook on every thread: alone in its cache line.
struct alignas(64) Attached {
  std::atomic<bool> value{false};
};
inline constinit Attached g_attached;

/// As record::recording and record::tracking, for an adapter that is attached.
inline bool recording() noexcept {
  return g_attached.value.load(std::memory_order_relaxed) && record::recording();
}
inline bool tracking() noexcept {
  return g_attached.value.load(std::memory_order_relaxed) && record::tracking();
}

/// In a handler: turns the recorder off, saying what has been thrown.
inline void stop_recording_by_fault() noexcept {
  try {
    throw;
  } catch (const std::exception& fault) {
    record::recorder().fail(fault.what());
  } catch (...) {
    record::recorder().fail("unknown fault in the MLX adapter");
  }
}

/// Runs `work`; a fault in it turns the recorder off and goes no further.
template <typename Work>
void quietly(Work&& work) noexcept {
  try {
    work();
  } catch (...) {
    stop_recording_by_fault();
  }
}

/// Bytes MLX counts as active although the allocation failed.
std::uint64_t lost_by_mlx() noexcept;

/// Registers the provider of cached buffers. Called once, by `attach`.
void register_cache_state();

}  // namespace strandline::mlx_adapter
