// SPDX-License-Identifier: Apache-2.0
// Slots of one size, cut from regions of one size that the caller obtained: for blocks so small
// that a device allocation each would waste most of it. Addresses only, no memory; not
// synchronised.
//
//   region  [slot|slot|slot| never used yet ...]     a slot is taken, free, or was never used
//
// Every call is O(1), except that finding the region of an address is O(log regions) (O(1) with
// one, and for the region asked for last). The slot freed last is taken first.
//
//   invariants: Σ over regions of taken = taken slots; taken + free = regions × slots of a region;
//               a region is in the list of open ones iff it has a free slot; regions do not overlap
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "strandline/core/export.h"

namespace strandline::alloc {

class STRANDLINE_API SmallHeap {
 public:
  /// How a free ended. Anything but `freed` changes nothing.
  enum class Put : std::uint8_t {
    freed,
    not_ours,   ///< in none of the regions
    not_taken,  ///< the slot is free: freed twice
    inside,     ///< within a slot, not at its start
  };
  struct Region {
    std::uint64_t base = 0;
    std::uint64_t taken = 0;  ///< slots
  };

  /// `slot_bytes` is a power of two, `region_bytes` a multiple of it with fewer than 2^31 slots;
  /// InvalidArgument otherwise.
  SmallHeap(std::uint64_t slot_bytes, std::uint64_t region_bytes);

  /// Adds the bytes [base, base + region_bytes). InvalidArgument when base is 0 or no multiple of
  /// the slot, when the range wraps or overlaps another region. bad_alloc leaves all as it was.
  void add_region(std::uint64_t base);
  /// Removes a region without a taken slot and returns its base; nothing when there is none.
  [[nodiscard]] std::optional<std::uint64_t> remove_idle_region() noexcept;

  /// The address of a free slot; nothing when all are taken: add a region.
  [[nodiscard]] std::optional<std::uint64_t> take() noexcept;
  [[nodiscard]] Put put(std::uint64_t address) noexcept;

  /// Whether the byte lies in a region.
  [[nodiscard]] bool owns(std::uint64_t address) const noexcept {
    return region_of(address) != kNone;
  }
  /// Whether a taken slot starts there.
  [[nodiscard]] bool is_taken(std::uint64_t address) const noexcept;

  [[nodiscard]] std::uint64_t slot_bytes() const noexcept { return std::uint64_t{1} << shift_; }
  [[nodiscard]] std::uint64_t region_bytes() const noexcept { return region_bytes_; }
  [[nodiscard]] std::uint64_t taken_slots() const noexcept { return taken_; }
  [[nodiscard]] std::uint64_t free_slots() const noexcept {
    return by_base_.size() * slots_per_region_ - taken_;
  }
  [[nodiscard]] std::size_t region_count() const noexcept { return by_base_.size(); }

  /// Calls `visit(const Region&)` by ascending base.
  template <typename Visit>
  void for_each_region(Visit&& visit) const {
    for (const Place& place : by_base_) visit(Region{place.base, regions_[place.region].taken});
  }
  /// Calls `visit(std::uint64_t address)` for every taken slot by ascending address.
  template <typename Visit>
  void for_each_taken(Visit&& visit) const {
    for (const Place& place : by_base_) visit_taken(place.region, visit);
  }
  /// The same for those of the region that has the byte at `address`; without one nothing happens.
  template <typename Visit>
  void for_each_taken_beside(std::uint64_t address, Visit&& visit) const {
    const Index region = region_of(address);
    if (region != kNone) visit_taken(region, visit);
  }

  /// Checks the invariants above; throws InternalError naming the first that does not hold.
  void validate() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  static constexpr Index kTaken = UINT32_MAX - 1;  // in slots_; else the next free slot or kNone

  struct State {
    std::uint64_t base = 0;  // 0: the state is unused
    Index taken = 0;
    Index first_free = kNone;
    Index never_used = 0;  // slots from here on
    Index open_before = kNone;
    Index open_after = kNone;  // also links unused states
  };
  struct Place {
    std::uint64_t base = 0;
    Index region = kNone;
  };

  Index region_of(std::uint64_t address) const noexcept {
    if (last_ != kNone && address - regions_[last_].base < region_bytes_) return last_;
    return search(address);
  }
  template <typename Visit>
  void visit_taken(Index region, Visit& visit) const {
    const State& state = regions_[region];
    const Index* slots = slots_.data() + region * slots_per_region_;
    for (Index i = 0; i < state.never_used; ++i) {
      if (slots[i] == kTaken) visit(state.base + (std::uint64_t{i} << shift_));
    }
  }
  Index search(std::uint64_t address) const noexcept;
  void open(Index region) noexcept;
  void close(Index region) noexcept;
  void make_state();
  void check_free_region(std::uint64_t base) const;
  void validate_region(const Place& place) const;
  void validate_open() const;

  std::uint32_t shift_ = 0;
  std::uint64_t region_bytes_;
  std::uint64_t slots_per_region_ = 0;
  std::uint64_t taken_ = 0;
  Index open_ = kNone;          // first region with a free slot
  Index unused_ = kNone;        // first state without a region
  mutable Index last_ = kNone;  // region found last
  std::vector<State> regions_;
  std::vector<Place> by_base_;  // sorted
  std::vector<Index> slots_;    // slots_per_region_ for each state
};

}  // namespace strandline::alloc
