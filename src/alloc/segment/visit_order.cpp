// SPDX-License-Identifier: Apache-2.0
// Robin-hood insertion: who is farther from home takes the slot, and who was there moves on.
#include "alloc/segment/visit_order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace strandline::alloc {

namespace {

// The table is at most half full, and has no fewer buckets.
constexpr std::size_t kFewestBuckets = 4;
constexpr int kFewestLookups = 4;

}  // namespace

std::uint64_t VisitOrder::stream_hash(std::uint64_t ordinal) noexcept {
  constexpr std::uint64_t kDeviceType = 1;
  constexpr std::uint64_t kStreams = 32;
  const std::uint64_t id = ordinal == 0 ? 0 : (ordinal - 1) % kStreams * 32 + 3;
  return kDeviceType << 56 | id;
}

std::size_t VisitOrder::find(std::uint64_t ordinal) const noexcept {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.distance >= 0 && slot.ordinal == ordinal;
  });
  return static_cast<std::size_t>(found - slots_.begin());
}

std::size_t VisitOrder::home(std::uint64_t ordinal) const noexcept {
  const std::uint64_t spread = 0x9E3779B97F4A7C15ULL * hash_(ordinal);
  return static_cast<std::size_t>(spread >> (64 - std::countr_zero(buckets_)));
}

int VisitOrder::most_lookups(std::size_t buckets) noexcept {
  return std::max(kFewestLookups, std::countr_zero(buckets));
}

void VisitOrder::insert(std::uint64_t ordinal) {
  if (contains(ordinal)) return;
  while (buckets_ == 0 || 2 * (count_ + 1) > buckets_ || !place(ordinal)) grow();
}

// False where the way to a free slot is too long. Who was carried last is then where the newcomer
// was, which has no slot: the order of what comes again into a larger table hangs on it.
bool VisitOrder::place(std::uint64_t ordinal) noexcept {
  const int most = most_lookups(buckets_);
  std::size_t i = home(ordinal);
  int distance = 0;
  for (; slots_[i].distance >= distance; ++i) ++distance;
  if (distance >= most) return false;
  const std::size_t taken = i;
  Slot carried = std::exchange(slots_[i], {ordinal, distance});
  while (carried.distance >= 0) {
    ++i;
    ++carried.distance;
    const bool is_behind = slots_[i].distance < carried.distance;
    if (i + 1 == slots_.size() || (!is_behind && carried.distance + 1 == most)) {
      slots_[taken].ordinal = carried.ordinal;
      return false;
    }
    if (is_behind) std::swap(slots_[i], carried);
  }
  ++count_;
  return true;
}

void VisitOrder::grow() {
  const std::size_t buckets = std::max(kFewestBuckets, 2 * buckets_);
  std::vector<Slot> old(buckets + static_cast<std::size_t>(most_lookups(buckets)));
  old.swap(slots_);
  buckets_ = buckets;
  count_ = 0;
  for (const Slot& slot : old) {
    if (slot.distance >= 0) insert(slot.ordinal);
  }
}

void VisitOrder::erase(std::uint64_t ordinal) noexcept {
  std::size_t i = find(ordinal);
  if (i == slots_.size()) return;
  for (; slots_[i + 1].distance > 0; ++i) {
    slots_[i] = {slots_[i + 1].ordinal, slots_[i + 1].distance - 1};
  }
  slots_[i].distance = -1;
  --count_;
}

std::vector<std::uint64_t> VisitOrder::ordinals() const {
  std::vector<std::uint64_t> all;
  for (const Slot& slot : slots_) {
    if (slot.distance >= 0) all.push_back(slot.ordinal);
  }
  return all;
}

}  // namespace strandline::alloc
