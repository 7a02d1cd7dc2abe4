// SPDX-License-Identifier: Apache-2.0
// Event time: the CPU's own counter, read in a few nanoseconds and converted only when a record is
// read. Where the counter is not invariant, CLOCK_MONOTONIC in nanoseconds stands in for it.
// A conversion uses two anchors (counter, Unix time) taken around the record and interpolates.
#pragma once

#include <cstdint>

#include "strandline/core/export.h"

namespace strandline {

/// True when `clock_ticks` reads the CPU's counter, false when it reads CLOCK_MONOTONIC.
STRANDLINE_API bool clock_uses_cpu_counter() noexcept;

namespace detail {
STRANDLINE_API extern const bool g_use_cpu_counter;
STRANDLINE_API std::uint64_t monotonic_ns() noexcept;
}  // namespace detail

/// Now, in ticks of unknown but constant length. Monotonic per thread; any thread.
inline std::uint64_t clock_ticks() noexcept {
#if defined(__x86_64__)
  if (STRANDLINE_LIKELY(detail::g_use_cpu_counter)) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
  return detail::monotonic_ns();
}

/// One moment in both times.
struct ClockAnchor {
  std::uint64_t ticks = 0;
  std::int64_t unix_ns = 0;
};

/// The tightest of several readings; about a microsecond of work.
STRANDLINE_API ClockAnchor clock_anchor() noexcept;

/// Ticks to Unix time by two anchors.
class STRANDLINE_API ClockConversion {
 public:
  ClockConversion() = default;
  /// `later` must not be before `earlier`; anchors closer than a millisecond fall back to the
  /// nominal rate measured once per process.
  ClockConversion(ClockAnchor earlier, ClockAnchor later) noexcept;

  std::int64_t unix_ns(std::uint64_t ticks) const noexcept;
  std::int64_t unix_us(std::uint64_t ticks) const noexcept { return unix_ns(ticks) / 1000; }

 private:
  ClockAnchor origin_;
  double ns_per_tick_ = 1.0;
};

}  // namespace strandline
