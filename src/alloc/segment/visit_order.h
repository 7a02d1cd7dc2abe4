// SPDX-License-Identifier: Apache-2.0
// In which order PyTorch visits the streams that freed blocks wait for, and the private pools that
// have ended: that of an open-addressing table with robin-hood insertion, over hashes of their
// numbers. What merges with what first depends on it, and with that sums of inactive_split and the
// requested size that a free block remembers. Decisions::pytorch needs it to give the same answers;
// nothing else should. Not synchronised.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strandline::alloc {

class VisitOrder {
 public:
  using Hash = std::uint64_t (*)(std::uint64_t ordinal);

  explicit VisitOrder(Hash hash) : hash_(hash) {}

  /// Of streams: 0 is the default stream, n the n-th other, which PyTorch takes from its pool.
  static std::uint64_t stream_hash(std::uint64_t ordinal) noexcept {
    const std::uint64_t id = ordinal == 0 ? 0 : (ordinal - 1) * 32 + 3;
    return id ^ (0x13C6EF373ULL + (id << 6) + (id >> 2));
  }
  /// Of pools: the n-th MemPool.
  static std::uint64_t pool_hash(std::uint64_t ordinal) noexcept { return ordinal; }

  void insert(std::uint64_t ordinal) {
    if (std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
          return slot.distance >= 0 && slot.ordinal == ordinal;
        }) == slots_.end()) {
      place(ordinal);
    }
  }
  void erase(std::uint64_t ordinal) noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].distance < 0 || slots_[i].ordinal != ordinal) continue;
      --count_;
      for (; i + 1 < slots_.size() && slots_[i + 1].distance > 0; ++i) {
        slots_[i] = {slots_[i + 1].ordinal, slots_[i + 1].distance - 1};
      }
      slots_[i].distance = -1;
      return;
    }
  }
  std::vector<std::uint64_t> ordinals() const {
    std::vector<std::uint64_t> all;
    for (const Slot& slot : slots_) {
      if (slot.distance >= 0) all.push_back(slot.ordinal);
    }
    return all;
  }

 private:
  struct Slot {
    std::uint64_t ordinal = 0;
    int distance = -1;  // from its home; -1: empty
  };

  std::size_t home(std::uint64_t ordinal) const noexcept {
    return static_cast<std::size_t>((11400714819323198485ULL * hash_(ordinal)) >>
                                    (64 - std::countr_zero(buckets_)));
  }
  int most_lookups() const noexcept { return std::max(4, std::countr_zero(buckets_)); }

  void place(std::uint64_t ordinal) {
    if (buckets_ == 0 || 2 * (count_ + 1) > buckets_) grow();
    for (;;) {
      std::size_t i = home(ordinal);
      int distance = 0;
      Slot carried{ordinal, 0};
      for (;; ++i, ++distance) {
        if (distance == most_lookups()) break;
        if (slots_[i].distance < distance) {
          carried.distance = distance;
          std::swap(slots_[i], carried);
          if (carried.distance < 0) {
            ++count_;
            return;
          }
          distance = carried.distance;
        }
      }
      ordinal = carried.ordinal;
      grow();
    }
  }
  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, {});
    buckets_ = std::max<std::size_t>(4, 2 * buckets_);
    slots_.resize(buckets_ + static_cast<std::size_t>(most_lookups()));
    count_ = 0;
    for (const Slot& slot : old) {
      if (slot.distance >= 0) place(slot.ordinal);
    }
  }

  Hash hash_;
  std::vector<Slot> slots_;
  std::size_t buckets_ = 0;
  std::size_t count_ = 0;
};

}  // namespace strandline::alloc
