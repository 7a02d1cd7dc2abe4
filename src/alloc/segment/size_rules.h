// SPDX-License-Identifier: Apache-2.0
// How sizes are rounded, which pool they belong to, what the device is asked for, and when a block
// is cut: spec segment-allocator 1.1 to 1.5. Pure functions of the settings.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "alloc/faults.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/alloc/segment_settings.h"

namespace strandline::alloc {

class SizeRules {
 public:
  static constexpr std::uint64_t kUnit = 512;
  static constexpr std::uint64_t kSmallBytes = 1 << 20;         ///< rounded: small up to here
  static constexpr std::uint64_t kSmallSegmentBytes = 2 << 20;  ///< also the unit of large ones
  static constexpr std::uint64_t kOwnSegmentBytes = 10
                                                    << 20;  ///< from here on one block, one segment
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 63;

  SizeRules() = default;
  SizeRules(const SegmentSettings& settings, Decisions decisions)
      : settings_(settings), one_is_next_power_(decisions == Decisions::ours) {
    has_divisions_ = std::any_of(settings.roundup_power2_divisions.begin(),
                                 settings.roundup_power2_divisions.end(),
                                 [](std::uint64_t divisions) { return divisions != 0; });
    has_gc_threshold_ = settings.garbage_collection_threshold > 0;
  }

  const SegmentSettings& settings() const noexcept { return settings_; }
  bool has_gc_threshold() const noexcept { return has_gc_threshold_; }

  /// Of a request of at most kMostBytes.
  std::uint64_t rounded(std::uint64_t bytes) const noexcept {
    if (has_divisions_) [[unlikely]] {
      return rounded_by_divisions(bytes);
    }
    if (is_on(Fault::C01_sizes_are_rounded_to_256_bytes)) return round_up(bytes, kUnit / 2);
    return bytes < kUnit ? kUnit : round_up(bytes, kUnit);
  }

  static bool is_small(std::uint64_t size) noexcept { return size <= kSmallBytes; }

  std::uint64_t device_request(std::uint64_t size) const noexcept {
    if (size <= kSmallBytes) return kSmallSegmentBytes;
    if (size < kOwnSegmentBytes) return settings_.large_segment_bytes;
    if (is_on(Fault::C02_ten_mib_share_a_segment) && size == kOwnSegmentBytes) {
      return settings_.large_segment_bytes;
    }
    return round_up(size, kSmallSegmentBytes);
  }

  /// What `left` bytes behind a block of `size` bytes become a block of their own.
  bool cuts(std::uint64_t size, std::uint64_t left, bool is_small_pool) const noexcept {
    if (is_on(Fault::C03_remainders_at_the_border_are_cut) && left == kSmallBytes) return true;
    if (is_small_pool) return left >= kUnit;
    return size < settings_.max_split_bytes && left > kSmallBytes;
  }

  bool is_oversize(std::uint64_t size) const noexcept { return size >= settings_.max_split_bytes; }

  /// Whether a free block may serve a request that it is large enough for.
  bool may_serve(std::uint64_t block_size, std::uint64_t size) const noexcept {
    const std::uint64_t max_split = settings_.max_split_bytes;
    if (block_size < max_split) [[likely]] {
      return true;
    }
    return size >= max_split && block_size - size < settings_.max_non_split_rounding_bytes;
  }

 private:
  static std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
  }
  std::uint64_t rounded_by_divisions(std::uint64_t bytes) const noexcept;

  SegmentSettings settings_;
  bool has_divisions_ = false;
  bool has_gc_threshold_ = false;
  bool one_is_next_power_ = true;
};

/// Throws InvalidArgument naming the first value that is not as segment_settings.h says.
void check_settings(const SegmentSettings& settings);

}  // namespace strandline::alloc
