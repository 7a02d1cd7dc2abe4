// SPDX-License-Identifier: Apache-2.0
// Rounding by divisions of powers of two, and what settings may be.
#include "alloc/segment/size_rules.h"

#include <string>

#include <fmt/format.h>

#include "strandline/core/error.h"

namespace strandline::alloc {

std::uint64_t SizeRules::rounded_by_divisions(std::uint64_t bytes) const noexcept {
  if (bytes < kUnit) return kUnit;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes)) - 1;
  const std::size_t interval =
      power < 20 ? 0 : std::min<std::size_t>(power - 20, SegmentSettings::kIntervals - 1);
  const std::uint64_t divisions = settings_.roundup_power2_divisions[interval];
  const std::uint64_t usual = round_up(bytes, kUnit);
  if (divisions == 1) return one_is_next_power_ ? std::bit_ceil(bytes) : usual;
  if (divisions == 0 || bytes / kUnit < divisions || bytes <= kUnit * divisions) return usual;
  if (std::has_single_bit(bytes)) return bytes;
  return round_up(bytes, std::bit_floor(bytes) / divisions);
}

namespace {

void check(bool holds, const char* what, const std::string& got, const char* expected) {
  if (!holds) throw InvalidArgument(error_message("SegmentSettings", what, got, expected));
}

}  // namespace

void check_settings(const SegmentSettings& settings) {
  const std::uint64_t large = settings.large_segment_bytes;
  check(large > SizeRules::kOwnSegmentBytes && large % SizeRules::kUnit == 0 &&
            large <= std::uint64_t{1} << 60,
        "large_segment_bytes", std::to_string(large),
        "a multiple of 512 above 10 MiB, at most 2^60");
  check(settings.max_split_bytes >= large, "max_split_bytes",
        std::to_string(settings.max_split_bytes), "at least large_segment_bytes");
  check(settings.max_non_split_rounding_bytes >= large, "max_non_split_rounding_bytes",
        std::to_string(settings.max_non_split_rounding_bytes), "at least large_segment_bytes");
  const double threshold = settings.garbage_collection_threshold;
  check(threshold >= 0 && threshold < 1, "garbage_collection_threshold",
        fmt::format("{}", threshold), "0, or between 0 and 1");
  const double fraction = settings.per_process_memory_fraction;
  check(fraction >= 0 && fraction <= 1, "per_process_memory_fraction", fmt::format("{}", fraction),
        "0 to 1");
  for (const std::uint64_t divisions : settings.roundup_power2_divisions) {
    check(divisions == 0 || std::has_single_bit(divisions), "roundup_power2_divisions",
          std::to_string(divisions), "powers of two or 0");
  }
}

}  // namespace strandline::alloc
