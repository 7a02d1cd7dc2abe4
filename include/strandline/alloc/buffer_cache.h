// SPDX-License-Identifier: Apache-2.0
// Which freed buffer serves a request: the policy of MLX's caches on handles and sizes, no memory.
// A buffer is kept whole and reused whole; its size never changes here. Not synchronised.
//
//   try_put ──▶ [ oldest ... newest ] ──▶ take: best fit, among equal sizes the one freed last
//                   │                     (its bytes are the likeliest to be in the CPU's caches)
//                   └── take_oldest, trim: the least recently freed leaves first
//
//   invariants: bytes = Σ size; every entry is in the order of frees once and in the index once;
//               a size has one place in the index, however many entries share it
//
// The index: sizes fall into classes, eight to a power of two; a bitmap says which have entries;
// a class's sizes form a bitwise trie over the bits its class does not fix, which never needs
// rebalancing (as dlmalloc's bins for large chunks). Costs: O(1) where a class has one size, else
// at most as many steps as a size has free bits, in practice the logarithm of the class's sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "strandline/core/export.h"

namespace strandline::alloc {

class STRANDLINE_API BufferCache {
 public:
  /// `handle` is the caller's: an address, an index, a pointer to what it knows of the buffer.
  struct Entry {
    std::uint64_t handle = 0;
    std::uint64_t size = 0;  ///< bytes, > 0

    bool operator==(const Entry&) const = default;
  };
  struct Trimmed {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };

  /// `page_bytes` > 0 is the unit of the waste rule, see `serves`; InvalidArgument when it is 0.
  explicit BufferCache(std::uint64_t page_bytes);

  /// Whether a buffer of `size` may serve a request of `wanted` bytes: it is large enough, smaller
  /// than twice as large, and wastes less than two pages.
  [[nodiscard]] bool serves(std::uint64_t size, std::uint64_t wanted) const noexcept {
    return size >= wanted && size - wanted < (wanted < two_pages_ ? wanted : two_pages_);
  }

  /// Makes room for so many entries in all, so that `try_put`, which is on free paths, finds some.
  /// Call it where failing is allowed, with the buffers handed out and cached together. Amortised;
  /// bad_alloc leaves everything as it was.
  void reserve(std::size_t entries);

  /// Keeps a buffer. False, and nothing happens, when `reserve` did not make room or the size is 0.
  [[nodiscard]] bool try_put(const Entry& entry) noexcept;
  /// Removes and returns the smallest entry of at least `size` bytes, if it serves.
  [[nodiscard]] std::optional<Entry> take(std::uint64_t size) noexcept;
  /// Removes and returns the least recently freed.
  [[nodiscard]] std::optional<Entry> take_oldest() noexcept;

  /// Hands the least recently freed to `leave(const Entry&)` until at least `excess` bytes have
  /// left, and no further. `leave` must not call into the cache.
  template <typename Leave>
  Trimmed trim(std::uint64_t excess, Leave&& leave) {
    Trimmed done;
    while (done.bytes < excess) {
      const std::optional<Entry> oldest = take_oldest();
      if (!oldest) break;
      done.bytes += oldest->size;
      ++done.count;
      leave(*oldest);
    }
    return done;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// Calls `visit(const Entry&)` from the least to the most recently freed.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (Index at = oldest_; at != kNone; at = nodes_[at].newer) visit(nodes_[at].entry);
  }

  /// Checks the invariants above; throws InternalError naming the first that does not hold. O(n).
  void validate() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  static constexpr Index kInRing = UINT32_MAX - 1;  // as parent: another entry has the trie's place
  static constexpr std::uint32_t kStepBits = 3;
  static constexpr std::size_t kClassCount = 496;  // of 1 and of UINT64_MAX are the first and last
  static constexpr std::size_t kWordCount = (kClassCount + 63) / 64;

  // Entries of one size form a ring in the order they were freed. The oldest of them holds the
  // size's place in the trie.
  struct Node {
    Entry entry;
    Index older = kNone;
    Index newer = kNone;  // also links unused nodes
    Index ring_before = kNone;
    Index ring_after = kNone;
    Index parent = kNone;
    std::array<Index, 2> child = {kNone, kNone};
  };

  static std::uint32_t class_of(std::uint64_t size) noexcept;
  static std::uint32_t free_bits(std::uint64_t size) noexcept;
  static unsigned bit(std::uint64_t size, std::uint32_t free_bits_left) noexcept;

  Index find(std::uint64_t size) const noexcept;
  Index find_in_class(std::uint32_t of, std::uint64_t size) const noexcept;
  Index smallest_below(Index top) const noexcept;
  std::uint32_t next_class(std::uint32_t after) const noexcept;
  Entry remove(Index at) noexcept;
  void link_order(Index at) noexcept;
  void unlink_order(Index at) noexcept;
  void link_size(Index at) noexcept;
  void unlink_size(Index at) noexcept;
  void join_ring(Index at, Index holder) noexcept;
  void set_place(Index old, Index replacement) noexcept;
  Index detach_leaf(Index top) noexcept;

  void validate_order() const;
  std::size_t validate_trie(Index top, std::uint64_t prefix, std::uint32_t free_bits_left,
                            Index parent) const;
  std::size_t validate_ring(Index holder) const;

  std::uint64_t two_pages_;
  std::uint64_t bytes_ = 0;
  std::size_t count_ = 0;
  Index oldest_ = kNone;
  Index newest_ = kNone;
  Index unused_ = kNone;
  std::vector<Node> nodes_;
  std::array<std::uint64_t, kWordCount> occupied_ = {};
  std::array<Index, kClassCount> roots_;
};

}  // namespace strandline::alloc
