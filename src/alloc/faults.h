// SPDX-License-Identifier: Apache-2.0
// Faults that one test build switches on, to see that its tests notice: alloc_faults, which runs
// tests/alloc/segments_defects. In every other build none is on, the compiler knows it, and nothing
// of the question is left.
#pragma once

#include <cstdint>

namespace strandline::alloc {

/// By row of the checklist (C), of public defects (D) and of hazards (R) that it brings about.
enum class Fault : std::uint8_t {
  none,
  C01_sizes_are_rounded_to_256_bytes,
  C02_ten_mib_share_a_segment,
  C03_remainders_at_the_border_are_cut,
  C04_the_newer_segment_serves_first,
  C05_streams_share_free_blocks,
  C06_idle_memory_goes_before_reserves_are_asked,
  C07_frees_complete_before_their_uses,
  C08_leaving_a_pool_keeps_its_use,
  C11_a_fraction_is_no_limit,
  C12_requested_bytes_are_not_taken_back,
  D15_above_overwrites_the_last_interval,
  D16_sizes_wrap,
  D19_one_variable_is_not_read,
  D20_missing_information_masks_the_error,
  D21_a_pool_that_is_entered_is_a_capture,
  D22_the_first_scope_decides,
  D23_ended_pools_are_refused,
  D23_ended_pools_serve_others,
  D24_ended_pools_keep_their_memory,
  D35_limits_count_what_was_requested,
  D36_callbacks_are_called_under_the_lock,
  D36_the_device_is_called_under_the_lock,
  D40_parts_of_segments_are_freed,
  R07_memory_on_its_way_counts_for_nothing,
  R11_requests_of_no_bytes_reach_the_device,
};

#ifdef STRANDLINE_FAULTS
inline constinit Fault g_fault = Fault::none;
inline bool is_on(Fault fault) noexcept {
  return g_fault == fault;
}
inline bool any_fault_is_on() noexcept {
  return g_fault != Fault::none;
}
#else
constexpr bool is_on(Fault /*fault*/) noexcept {
  return false;
}
constexpr bool any_fault_is_on() noexcept {
  return false;
}
#endif

}  // namespace strandline::alloc
