// SPDX-License-Identifier: Apache-2.0
// Regions and their slots. A region's free slots are a list through `slots_`, the never used ones
// behind it a number; regions with either form the list of open ones.
#include "strandline/alloc/small_heap.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "alloc/invariant.h"
#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

constexpr std::string_view kSmallHeap = "SmallHeap";

}  // namespace

SmallHeap::SmallHeap(std::uint64_t slot_bytes, std::uint64_t region_bytes)
    : region_bytes_(region_bytes) {
  if (!std::has_single_bit(slot_bytes)) {
    throw InvalidArgument(
        error_message("SmallHeap", "slot_bytes", fmt::format("{}", slot_bytes), "a power of two"));
  }
  shift_ = static_cast<std::uint32_t>(std::countr_zero(slot_bytes));
  slots_per_region_ = region_bytes >> shift_;
  if (slots_per_region_ == 0 || region_bytes % slot_bytes != 0 || slots_per_region_ >> 31 != 0) {
    throw InvalidArgument(
        error_message("SmallHeap", "region_bytes", fmt::format("{}", region_bytes),
                      fmt::format("a multiple of {}, fewer than 2^31 slots", slot_bytes)));
  }
}

void SmallHeap::check_free_region(std::uint64_t base) const {
  const auto wrong = [&](const std::string& expected) {
    throw InvalidArgument(
        error_message("SmallHeap::add_region", "base", fmt::format("{:#x}", base), expected));
  };
  if (base == 0 || base % slot_bytes() != 0) {
    wrong(fmt::format("a multiple of {} above 0", slot_bytes()));
  }
  if (base + (region_bytes_ - 1) < base) wrong("a region that ends below 2^64");
  const auto after = std::ranges::upper_bound(by_base_, base, {}, &Place::base);
  const bool meets_next = after != by_base_.end() && after->base - base < region_bytes_;
  const bool meets_last =
      after != by_base_.begin() && base - std::prev(after)->base < region_bytes_;
  if (meets_next || meets_last) wrong("a region apart from those there are");
}

// One more unused state. All that can fail comes first.
void SmallHeap::make_state() {
  by_base_.reserve(std::max<std::size_t>(by_base_.size() + 1, regions_.size() * 2));
  slots_.resize((regions_.size() + 1) * slots_per_region_, kNone);
  regions_.emplace_back();
  regions_.back().open_after = unused_;
  unused_ = static_cast<Index>(regions_.size() - 1);
}

void SmallHeap::add_region(std::uint64_t base) {
  check_free_region(base);
  if (unused_ == kNone) make_state();
  const Index region = unused_;
  unused_ = regions_[region].open_after;
  regions_[region] = State{.base = base};
  const auto after = std::ranges::upper_bound(by_base_, base, {}, &Place::base);
  by_base_.insert(after, Place{base, region});  // make_state reserved its place
  open(region);
  last_ = region;
}

std::optional<std::uint64_t> SmallHeap::remove_idle_region() noexcept {
  const auto idle = std::ranges::find_if(
      by_base_, [&](const Place& place) { return regions_[place.region].taken == 0; });
  if (idle == by_base_.end()) return std::nullopt;
  const Place gone = *idle;
  close(gone.region);
  by_base_.erase(idle);
  regions_[gone.region] = State{.open_after = unused_};
  unused_ = gone.region;
  last_ = kNone;
  return gone.base;
}

void SmallHeap::open(Index region) noexcept {
  regions_[region].open_before = kNone;
  regions_[region].open_after = open_;
  if (open_ != kNone) regions_[open_].open_before = region;
  open_ = region;
}

void SmallHeap::close(Index region) noexcept {
  const State& state = regions_[region];
  (state.open_before == kNone ? open_ : regions_[state.open_before].open_after) = state.open_after;
  if (state.open_after != kNone) regions_[state.open_after].open_before = state.open_before;
}

std::optional<std::uint64_t> SmallHeap::take() noexcept {
  if (open_ == kNone) return std::nullopt;
  const Index region = open_;
  State& state = regions_[region];
  Index* slots = slots_.data() + region * slots_per_region_;
  Index slot = state.first_free;
  if (slot != kNone) {
    state.first_free = slots[slot];
  } else {
    slot = state.never_used++;
  }
  slots[slot] = kTaken;
  ++taken_;
  if (++state.taken == slots_per_region_) close(region);
  return state.base + (std::uint64_t{slot} << shift_);
}

SmallHeap::Put SmallHeap::put(std::uint64_t address) noexcept {
  const Index region = region_of(address);
  if (region == kNone) return Put::not_ours;
  State& state = regions_[region];
  const std::uint64_t offset = address - state.base;
  if ((offset & (slot_bytes() - 1)) != 0) return Put::inside;
  const auto slot = static_cast<Index>(offset >> shift_);
  Index* slots = slots_.data() + region * slots_per_region_;
  if (slot >= state.never_used || slots[slot] != kTaken) return Put::not_taken;
  slots[slot] = state.first_free;
  state.first_free = slot;
  --taken_;
  if (state.taken-- == slots_per_region_) open(region);
  return Put::freed;
}

bool SmallHeap::is_taken(std::uint64_t address) const noexcept {
  const Index region = region_of(address);
  if (region == kNone) return false;
  const State& state = regions_[region];
  const std::uint64_t offset = address - state.base;
  const std::uint64_t slot = offset >> shift_;
  return (offset & (slot_bytes() - 1)) == 0 && slot < state.never_used &&
         slots_[region * slots_per_region_ + slot] == kTaken;
}

SmallHeap::Index SmallHeap::search(std::uint64_t address) const noexcept {
  const auto after = std::ranges::upper_bound(by_base_, address, {}, &Place::base);
  if (after == by_base_.begin()) return kNone;
  const Place& place = *std::prev(after);
  if (address - place.base >= region_bytes_) return kNone;
  last_ = place.region;
  return place.region;
}

void SmallHeap::validate() const {
  std::uint64_t taken = 0;
  std::uint64_t end = 0;
  for (const Place& place : by_base_) {
    require(kSmallHeap, place.base > end, "regions do not overlap", place.base);
    end = place.base + (region_bytes_ - 1);
    validate_region(place);
    taken += regions_[place.region].taken;
  }
  require(kSmallHeap, taken == taken_, "sum of taken slots", taken);
  validate_open();
}

void SmallHeap::validate_region(const Place& place) const {
  const State& state = regions_[place.region];
  require(kSmallHeap, state.base == place.base, "a region is found by its base", place.base);
  const Index* slots = slots_.data() + place.region * slots_per_region_;
  std::uint64_t taken = 0;
  for (Index slot = 0; slot < state.never_used; ++slot) taken += slots[slot] == kTaken ? 1 : 0;
  require(kSmallHeap, taken == state.taken, "a region's taken slots are marked so", place.base);
  std::uint64_t free = 0;
  for (Index slot = state.first_free; slot != kNone; slot = slots[slot]) {
    require(kSmallHeap, slot < state.never_used, "free slots are below the never used", place.base);
    require(kSmallHeap, ++free <= slots_per_region_, "the list of free slots ends", place.base);
  }
  require(kSmallHeap, taken + free == state.never_used, "every used slot is taken or free",
          place.base);
}

void SmallHeap::validate_open() const {
  std::size_t open = 0;
  Index before = kNone;
  for (Index at = open_; at != kNone; before = at, at = regions_[at].open_after) {
    require(kSmallHeap, ++open <= by_base_.size(), "the list of open regions ends",
            regions_[at].base);
    require(kSmallHeap, regions_[at].open_before == before, "it is linked both ways",
            regions_[at].base);
    require(kSmallHeap, regions_[at].taken < slots_per_region_,
            "it has regions with free slots only", regions_[at].base);
  }
  const auto expected = std::ranges::count_if(by_base_, [&](const Place& place) {
    return regions_[place.region].taken < slots_per_region_;
  });
  require(kSmallHeap, static_cast<std::size_t>(expected) == open,
          "it has all regions with free slots", open);
}

}  // namespace strandline::alloc
