// SPDX-License-Identifier: Apache-2.0
// Rounding and splitting as PyTorch's caching allocator does them.
#include <algorithm>
#include <bit>
#include <charconv>

#include <nlohmann/json.hpp>

#include "strandline/snapshot/state_replay.h"

namespace strandline::snapshot {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kSmallLimit = kMiB;
constexpr std::uint64_t kSmallSegment = 2 * kMiB;
constexpr std::uint64_t kLargeSegment = 20 * kMiB;
constexpr std::uint64_t kOwnSegmentFrom = 10 * kMiB;
constexpr std::uint64_t kMost = 1ULL << 62;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return (value + step - 1) / step * step;
}

std::uint64_t number_of(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return UINT64_MAX;  // -1: no limit
  return 0;
}

}  // namespace

SizeRules::SizeRules(const std::string& settings) {
  const auto json = nlohmann::json::parse(settings, nullptr, false);
  if (!json.is_object()) return;
  if (const auto limit = json.find("max_split_size"); limit != json.end()) {
    const std::uint64_t bytes = number_of(*limit);
    if (bytes > 0) max_split_ = bytes;
  }
  if (const auto on = json.find("expandable_segments"); on != json.end()) {
    expandable_ = on->is_boolean() ? on->get<bool>() : number_of(*on) == 1;
  }
  const auto parts = json.find("roundup_power2_divisions");
  if (parts == json.end() || !parts->is_object()) return;
  for (const auto& [key, value] : parts->items()) {
    std::uint64_t mebibytes = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), mebibytes);
    const bool is_number = error == std::errc() && end == key.data() + key.size();
    if (is_number && mebibytes > 0 && mebibytes < kMost / kMiB) {
      divisions_[mebibytes * kMiB] = std::min(number_of(value), std::uint64_t{1} << 32);
    }
  }
}

std::uint64_t SizeRules::rounded(std::uint64_t requested) const noexcept {
  if (requested <= kBlock) return kBlock;
  if (requested >= kMost) return requested;
  std::uint64_t divisions = 0;
  if (!divisions_.empty()) {
    // An interval reaches from its key to the next; the first covers all below it too.
    auto interval = divisions_.upper_bound(requested);
    if (interval != divisions_.begin()) --interval;
    divisions = interval->second;
  }
  if (divisions < 2 || requested <= kBlock * divisions || std::has_single_bit(requested)) {
    return round_up(requested, kBlock);
  }
  const std::uint64_t floor = std::bit_floor(requested);
  const std::uint64_t step = floor / divisions;
  return step == 0 ? floor * 2 : round_up(requested, step);
}

std::uint64_t SizeRules::taken(std::uint64_t requested, std::uint64_t room,
                               const ReplaySegment& segment) const noexcept {
  const std::uint64_t size = rounded(requested);
  if (size >= room) return room;
  const std::uint64_t rest = room - size;
  const bool splits = segment.place.is_small || segment.is_expandable || expandable_
                          ? rest >= kBlock
                          : size < max_split_ && rest > kSmallLimit;
  return splits ? size : room;
}

std::uint64_t SizeRules::segment_bytes(std::uint64_t rounded) noexcept {
  if (rounded <= kSmallLimit) return kSmallSegment;
  if (rounded < kOwnSegmentFrom) return kLargeSegment;
  return rounded >= kMost ? rounded : round_up(rounded, kSmallSegment);
}

bool SizeRules::is_small(std::uint64_t rounded) noexcept {
  return rounded <= kSmallLimit;
}

}  // namespace strandline::snapshot
