// SPDX-License-Identifier: Apache-2.0
// The naive books: what is handed out (random/model.h), and from it the statistics that follow;
// freed blocks that others still use; PyTorch's rounding, from the specification alone.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>

#include "alloc/random/model.h"
#include "alloc/segments_random/order.h"
#include "strandline/alloc/segment_allocator.h"

namespace strandline::alloc::segments_random {

using random::must;
using random::must_equal;

/// Sizes as spec segment-allocator 1.2 rounds them. One division is the next power of two, and
/// counts as none where decisions are PyTorch's.
inline std::uint64_t rounded(const SegmentSettings& settings, Decisions decisions,
                             std::uint64_t bytes) {
  if (bytes < 512) return 512;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes)) - 1;
  const std::size_t interval = std::min<std::size_t>(power < 20 ? 0 : power - 20, 15);
  const std::uint64_t divisions = settings.roundup_power2_divisions[interval];
  const std::uint64_t least = decisions == Decisions::ours ? 1 : 2;
  std::uint64_t step = 512;
  if (divisions >= least && bytes > 512 * divisions) {
    if (std::has_single_bit(bytes)) return bytes;
    step = (std::uint64_t{1} << power) / divisions;
    if (step == 0) return std::uint64_t{2} << power;
  }
  return (bytes + step - 1) / step * step;
}

inline bool is_small(std::uint64_t size) {
  return size <= (1 << 20);
}

inline std::uint64_t device_request(const SegmentSettings& settings, std::uint64_t size) {
  constexpr std::uint64_t kMiB = 1 << 20;
  if (is_small(size)) return 2 * kMiB;
  if (size < 10 * kMiB) return settings.large_segment_bytes;
  return (size + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
}

/// A number over time, kept the plain way.
class Tally {
 public:
  void add(std::uint64_t amount) {
    stat_.current += static_cast<std::int64_t>(amount);
    stat_.allocated += static_cast<std::int64_t>(amount);
    stat_.peak = std::max(stat_.peak, stat_.current);
  }
  void subtract(std::uint64_t amount) {
    stat_.current -= static_cast<std::int64_t>(amount);
    stat_.freed += static_cast<std::int64_t>(amount);
  }
  void reset_peak() { stat_.peak = stat_.current; }
  void reset_sums() { stat_.allocated = stat_.freed = 0; }
  [[nodiscard]] const Stat& stat() const { return stat_; }

 private:
  Stat stat_;
};

/// The same by pool.
class Tallies {
 public:
  void add(bool small, std::uint64_t amount) {
    all_.add(amount);
    (small ? small_ : large_).add(amount);
  }
  void subtract(bool small, std::uint64_t amount) {
    all_.subtract(amount);
    (small ? small_ : large_).subtract(amount);
  }
  void reset_peak() {
    for (Tally* tally : {&all_, &small_, &large_}) tally->reset_peak();
  }
  void reset_sums() {
    for (Tally* tally : {&all_, &small_, &large_}) tally->reset_sums();
  }
  void must_be(const StatByPool& told, const char* what) const {
    if (StatByPool{all_.stat(), small_.stat(), large_.stat()} == told) return;
    const Stat& mine = all_.stat();
    const Stat& theirs = told.all;
    throw random::Violation(fmt::format(
        "{}: current {}, peak {}, allocated {}, freed {}, where {}, {}, {}, {} are right (or by "
        "pool)",
        what, theirs.current, theirs.peak, theirs.allocated, theirs.freed, mine.current, mine.peak,
        mine.allocated, mine.freed));
  }

 private:
  Tally all_;
  Tally small_;
  Tally large_;
};

/// What a slot's block is beyond random::Block.
struct Held {
  std::size_t stream = 0;       ///< that it was allocated for
  std::size_t last_stream = 0;  ///< that used it last
  std::uint64_t rounded = 0;
  PoolId pool{};
  bool may_be_elsewhere = false;  ///< in a pool that serves when there is no other memory
  Positions uses = {};            ///< by stream, the last
  Positions recorded = {};        ///< by other streams, said with record_stream
};

/// A block freed while others used it.
struct Pending {
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  Positions recorded = {};
};

struct Books {
  random::Model model;
  std::array<Held, kSlots> held;
  std::map<std::uint64_t, Pending> pending;  ///< by address; those that may be
  PastUses past;
  Tallies allocation;
  Tallies allocated_bytes;
  std::uint64_t out_of_memory = 0;   ///< since the sums were reset
  std::int64_t segments_before = 0;  ///< those that were there when the sums were reset

  void add(std::size_t slot, const random::Block& block, const Held& more) {
    model.add(model.slots[slot], block);
    held[slot] = more;
    allocation.add(is_small(more.rounded), 1);
    allocated_bytes.add(is_small(more.rounded), block.size);
    // What was pending there has been completed.
    auto at = pending.lower_bound(block.buffer.address());
    if (at != pending.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second.size > block.buffer.address()) at = before;
    }
    const std::uint64_t end = block.buffer.address() + block.size;
    while (at != pending.end() && at->first < end) at = pending.erase(at);
  }

  void remove(std::size_t slot, const Order& order) {
    random::Block& block = model.slots[slot];
    const Held& more = held[slot];
    const std::uint64_t address = block.buffer.address();
    past.add(address, block.size, more.uses, order);
    if (more.recorded != Positions{}) {
      pending[address] = {block.size, block.requested, more.recorded};
    }
    allocation.subtract(is_small(more.rounded), 1);
    allocated_bytes.subtract(is_small(more.rounded), block.size);
    model.remove(block);
  }
};

}  // namespace strandline::alloc::segments_random
