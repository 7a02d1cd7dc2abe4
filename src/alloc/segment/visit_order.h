// SPDX-License-Identifier: Apache-2.0
// In which order PyTorch visits the streams that freed blocks wait for, and private pools: that of
// its hash tables (ska::flat_hash_map and flat_hash_set), which put entries by robin-hood insertion
// into a power of two of buckets, by the upper bits of a multiplied hash. What merges with what
// first depends on that order, and with it sums and peaks of inactive_split and the requested size
// that a free block remembers. Decisions::pytorch needs it to give the same answers; nothing else
// should. tests/alloc/visit_order_test.cpp holds orders that such tables have shown.
//
//   invariant  slots_[i].distance = i - home of what is there; -1 where nothing is
//
// Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strandline::alloc {

class VisitOrder {
 public:
  using Hash = std::uint64_t (*)(std::uint64_t ordinal);

  explicit VisitOrder(Hash hash) : hash_(hash) {}

  /// Of streams of the first device: 0 is the default stream, n the n-th that was made, of which
  /// PyTorch keeps 32. Device type and index stand above the stream's id.
  static std::uint64_t stream_hash(std::uint64_t ordinal) noexcept;
  /// Of pools: the n-th MemPool.
  static std::uint64_t pool_hash(std::uint64_t ordinal) noexcept { return ordinal; }

  /// bad_alloc leaves out this one.
  void insert(std::uint64_t ordinal);
  void erase(std::uint64_t ordinal) noexcept;
  bool contains(std::uint64_t ordinal) const noexcept { return find(ordinal) != slots_.size(); }
  std::vector<std::uint64_t> ordinals() const;

 private:
  struct Slot {
    std::uint64_t ordinal = 0;
    int distance = -1;
  };

  std::size_t find(std::uint64_t ordinal) const noexcept;
  std::size_t home(std::uint64_t ordinal) const noexcept;
  static int most_lookups(std::size_t buckets) noexcept;
  bool place(std::uint64_t ordinal) noexcept;
  void grow();

  Hash hash_;
  std::vector<Slot> slots_;  // the last one stays empty
  std::size_t buckets_ = 0;
  std::size_t count_ = 0;
};

}  // namespace strandline::alloc
