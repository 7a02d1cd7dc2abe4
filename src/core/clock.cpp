// SPDX-License-Identifier: Apache-2.0
// Choice of the event clock, anchors and conversion.
#include "strandline/core/clock.h"

#include <atomic>
#include <fstream>
#include <string>

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace strandline {
namespace {

std::int64_t read_clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)
// The counter is usable when the CPU says it is invariant and the kernel itself trusts it.
bool cpu_counter_is_trusted() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kPowerLeaf = 0x80000007;
  constexpr unsigned kInvariantBit = 1U << 8;
  if (__get_cpuid(kPowerLeaf, &eax, &ebx, &ecx, &edx) == 0 || (edx & kInvariantBit) == 0) {
    return false;
  }
  try {
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string source;
    // Virtual machines name their own source, built on the same counter.
    return (file >> source) && (source == "tsc" || source == "kvm-clock");
  } catch (...) {
    return false;
  }
}
#else
bool cpu_counter_is_trusted() noexcept {
#if defined(__aarch64__)
  return true;
#else
  return false;
#endif
}
#endif

double measure_ns_per_tick() noexcept {
  const ClockAnchor first = clock_anchor();
  constexpr std::int64_t kSpanNs = 5'000'000;
  ClockAnchor last = first;
  while (last.unix_ns - first.unix_ns < kSpanNs) last = clock_anchor();
  if (last.ticks <= first.ticks) return 1.0;
  return static_cast<double>(last.unix_ns - first.unix_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

// Two threads may both measure it; a child of a fork never waits for one that it does not have.
double nominal_ns_per_tick() noexcept {
  static constinit std::atomic<double> known{0};
  double nominal = known.load(std::memory_order_relaxed);
  if (nominal == 0) known.store(nominal = measure_ns_per_tick(), std::memory_order_relaxed);
  return nominal;
}

}  // namespace

namespace detail {
const bool g_use_cpu_counter = cpu_counter_is_trusted();

std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC));
}
}  // namespace detail

bool clock_uses_cpu_counter() noexcept {
  return detail::g_use_cpu_counter;
}

ClockAnchor clock_anchor() noexcept {
  constexpr int kReadings = 16;
  ClockAnchor best;
  std::uint64_t best_span = UINT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = clock_ticks();
    const std::int64_t unix_ns = read_clock_ns(CLOCK_REALTIME);
    const std::uint64_t after = clock_ticks();
    const std::uint64_t span = after - before;
    if (span < best_span) {
      best_span = span;
      best = {.ticks = before + span / 2, .unix_ns = unix_ns};
    }
  }
  return best;
}

ClockConversion::ClockConversion(ClockAnchor earlier, ClockAnchor later) noexcept
    : origin_(earlier) {
  constexpr std::int64_t kShortestSpanNs = 1'000'000;
  const std::int64_t span_ns = later.unix_ns - earlier.unix_ns;
  if (span_ns >= kShortestSpanNs && later.ticks > earlier.ticks) {
    ns_per_tick_ = static_cast<double>(span_ns) / static_cast<double>(later.ticks - earlier.ticks);
  } else {
    ns_per_tick_ = nominal_ns_per_tick();
  }
}

std::int64_t ClockConversion::unix_ns(std::uint64_t ticks) const noexcept {
  const auto delta = static_cast<std::int64_t>(ticks - origin_.ticks);
  return origin_.unix_ns + static_cast<std::int64_t>(static_cast<double>(delta) * ns_per_tick_);
}

}  // namespace strandline
