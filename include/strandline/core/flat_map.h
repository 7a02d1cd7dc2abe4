// SPDX-License-Identifier: Apache-2.0
// An open-addressing map from non-zero 64-bit keys (addresses, fingerprints) to small values.
// Linear probing with backward-shift deletion: no tombstones, so a table that lives through
// millions of insertions and removals stays as fast as a fresh one. Not synchronised.
//
//   invariants: size_ <= limit_ = 3/4 of the slots; every key is reachable from its home slot
//   without crossing an empty one; mask_ + 1 = number of slots, a power of two
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "strandline/core/export.h"

namespace strandline {

/// Spreads the bits of addresses, whose low and high bits hardly vary.
constexpr std::uint64_t mix_bits(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15ULL;
  x ^= x >> 29;
  return x;
}

template <typename Value>
class FlatMap {
 public:
  FlatMap() : slots_(kFirstCapacity) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t memory_bytes() const noexcept { return slots_.size() * sizeof(Slot); }

  /// Null when absent; nothing is ever under key 0, the mark of an empty slot.
  STRANDLINE_ALWAYS_INLINE Value* find(std::uint64_t key) noexcept {
    if (key == 0) return nullptr;
    for (std::size_t i = home(key);; i = next(i)) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == 0) return nullptr;
    }
  }
  const Value* find(std::uint64_t key) const noexcept {
    return const_cast<FlatMap*>(this)->find(key);
  }

  /// `key` will be asked for soon.
  void prefetch(std::uint64_t key) const noexcept { __builtin_prefetch(&slots_[home(key)]); }

  /// The value under `key` (not 0), made by default when absent. The reference lasts until the
  /// next insertion or removal.
  Value& operator[](std::uint64_t key) { return *insert(key).value; }

  struct Inserted {
    Value* value;
    bool is_new;
  };
  /// The same, and whether it was absent. What throws changes nothing.
  STRANDLINE_ALWAYS_INLINE Inserted insert(std::uint64_t key) {
    if (size_ >= limit_) [[unlikely]] {
      grow();
    }
    for (std::size_t i = home(key);; i = next(i)) {
      Slot& slot = slots_[i];
      if (slot.key == key) return {&slot.value, false};
      if (slot.key != 0) continue;
      slot.key = key;
      ++size_;
      return {&slot.value, true};
    }
  }

  bool erase(std::uint64_t key) noexcept {
    Value* found = find(key);
    if (found != nullptr) erase_found(found);
    return found != nullptr;
  }

  /// Removes what `find` has just given; nothing may have been inserted or removed since.
  void erase_found(const Value* found) noexcept {
    const auto distance_bytes =
        reinterpret_cast<const char*>(found) - reinterpret_cast<const char*>(&slots_[0].value);
    auto hole = static_cast<std::size_t>(distance_bytes) / sizeof(Slot);
    for (std::size_t i = next(hole); slots_[i].key != 0; i = next(i)) {
      // A later entry may move into the hole unless its home lies after the hole.
      if (distance(home(slots_[i].key), i) >= distance(hole, i)) {
        slots_[hole] = std::move(slots_[i]);
        hole = i;
      }
    }
    slots_[hole] = Slot{};
    --size_;
  }

  /// So many entries fit without more memory.
  void reserve(std::size_t entries) {
    while (entries * 4 > slots_.size() * 3) grow();
  }

  /// Forgets everything and gives the memory back.
  void clear() {
    std::vector<Slot> fresh(kFirstCapacity);
    slots_.swap(fresh);
    slots_changed();
    size_ = 0;
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != 0) visit(slot.key, slot.value);
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
  };
  static constexpr std::size_t kFirstCapacity = 64;

  std::size_t home(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(mix_bits(key)) & mask_;
  }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & mask_; }
  std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return (to - from) & mask_;
  }
  void slots_changed() noexcept {
    mask_ = slots_.size() - 1;
    limit_ = slots_.size() / 4 * 3;
  }

  __attribute__((noinline)) void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    slots_changed();
    for (Slot& slot : old) {
      if (slot.key == 0) continue;
      std::size_t i = home(slot.key);
      while (slots_[i].key != 0) i = next(i);
      slots_[i] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = kFirstCapacity - 1;
  std::size_t limit_ = kFirstCapacity / 4 * 3;
  std::size_t size_ = 0;
};

}  // namespace strandline
