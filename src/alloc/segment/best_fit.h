// SPDX-License-Identifier: Apache-2.0
// The free blocks of one stream and pool, found by size: the smallest that is large enough; among
// equals that of the older segment, then the lower address, which is the order of PyTorch's set.
// With Ties::latest_first, up to 2 MiB the one freed last comes first among equals: it is the one
// that caches still know, and no search is needed.
//
//   bins by size: 4096 of one size each, in steps of 512 bytes, then 32 to every power of two; a
//   bit says whether a bin holds anything, a bit of a second level whether a word of bits does.
//   In a bin a search tree (a treap: a heap of the addresses' hashes), mostly of one node; or, for
//   equals with the latest first, a list. Links lie in the blocks, so nothing is ever allocated
//   after the first use.
//
//   invariants  a block is in the bin of its size; bit <=> bin not empty; trees are ordered;
//               count = Σ blocks; bytes = Σ size
//
// find, insert, erase: O(log of the blocks in one bin), O(1) in lists. Not synchronised.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "alloc/faults.h"
#include "alloc/segment/segment_block.h"
#include "strandline/core/flat_map.h"

namespace strandline::alloc {

enum class Ties : std::uint8_t { by_address, latest_first };

class BestFit {
 public:
  explicit BestFit(Ties ties = Ties::by_address)
      : exact_lists_(ties == Ties::latest_first ? kExact : 0),
        bins_(std::make_unique<std::array<SegmentBlock*, kBins>>()) {
    bins_->fill(nullptr);
  }

  /// `a` serves before `b`.
  static bool before(const SegmentBlock& a, const SegmentBlock& b) noexcept {
    if (a.size != b.size) return a.size < b.size;
    if (a.order != b.order) {
      return (a.order < b.order) != is_on(Fault::C04_the_newer_segment_serves_first);
    }
    return a.address < b.address;
  }

  /// The best of at least `size` bytes; null when there is none. It stays in.
  SegmentBlock* find(std::uint64_t size) const noexcept {
    const std::size_t bin = bin_of(size);
    if (bin < kExact) return lowest_from(bin);
    if (has(bin)) {
      if (SegmentBlock* block = at_least((*bins_)[bin], size)) return block;
    }
    return lowest_from(bin + 1);
  }

  void insert(SegmentBlock& block) noexcept {
    const std::size_t bin = bin_of(block.size);
    ++count_;
    bytes_ += block.size;
    SegmentBlock*& root = (*bins_)[bin];
    if (bin < exact_lists_) {
      block.left = nullptr;
      block.right = root;
      if (root == nullptr) {
        mark(bin);
      } else {
        root->left = &block;
      }
      root = &block;
      return;
    }
    block.priority = static_cast<std::uint32_t>(mix_bits(block.address) >> 16);
    if (root == nullptr) {
      block.left = nullptr;
      block.right = nullptr;
      root = &block;
      mark(bin);
      return;
    }
    insert_into(root, block);
  }

  /// `block` is in.
  void erase(SegmentBlock& block) noexcept {
    const std::size_t bin = bin_of(block.size);
    --count_;
    bytes_ -= block.size;
    SegmentBlock*& root = (*bins_)[bin];
    if (root == &block && block.left == nullptr && block.right == nullptr) {
      root = nullptr;
      unmark(bin);
      return;
    }
    if (bin < exact_lists_) {
      (block.left == nullptr ? root : block.left->right) = block.right;
      if (block.right != nullptr) block.right->left = block.left;
      return;
    }
    erase_from(root, block);
  }

  /// The block will be erased soon, and one of `size` bytes inserted.
  static void expect_erase(const SegmentBlock& block) noexcept {
    expect_links(block.left);
    expect_links(block.right);
  }
  void expect_insert(std::uint64_t size) const noexcept { expect_links((*bins_)[bin_of(size)]); }

  /// The first in order, the last, and the neighbours in order of a block that is in. Lists of
  /// equals are walked from the one freed last.
  SegmentBlock* first() const noexcept { return lowest_from(0); }
  SegmentBlock* last() const noexcept;
  SegmentBlock* after(const SegmentBlock& block) const noexcept;
  SegmentBlock* ahead_of(const SegmentBlock& block) const noexcept;

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Throws InternalError where an invariant does not hold. O(n).
  void validate() const;

  // -- for validate and tests ---------------------------------------------------------------------

  static constexpr std::uint64_t kUnit = 512;
  static constexpr std::size_t kExactPower = 12;
  static constexpr std::size_t kExact = (1 << kExactPower) + 1;  // bins of one size each
  static constexpr std::size_t kToEachPower = 32;                // bins from 2^k to 2^(k+1) units
  static constexpr std::size_t kBins = kExact + (52 - kExactPower) * kToEachPower;

  static std::size_t bin_of(std::uint64_t size) noexcept {
    const std::uint64_t units = size / kUnit;
    if (units < kExact) return static_cast<std::size_t>(units);
    const auto power = static_cast<unsigned>(std::bit_width(units)) - 1;  // >= kExactPower
    const std::uint64_t step = (units >> (power - 5)) & (kToEachPower - 1);
    const std::size_t bin =
        kExact + (power - kExactPower) * kToEachPower + static_cast<std::size_t>(step);
    return bin < kBins ? bin : kBins - 1;
  }

 private:
  static constexpr std::size_t kWords = (kBins + 63) / 64;
  static_assert(kWords <= 128, "two words hold the second level");

  bool has(std::size_t bin) const noexcept { return (bits_[bin / 64] >> (bin % 64) & 1) != 0; }
  void mark(std::size_t bin) noexcept {
    bits_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    words_[bin / 4096] |= std::uint64_t{1} << (bin / 64 % 64);
  }
  void unmark(std::size_t bin) noexcept {
    if ((bits_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64))) != 0) return;
    words_[bin / 4096] &= ~(std::uint64_t{1} << (bin / 64 % 64));
  }

  /// The first of the lowest bin that is not empty, from `bin` on.
  SegmentBlock* lowest_from(std::size_t bin) const noexcept {
    std::size_t word = bin / 64;
    if (word >= kWords) return nullptr;
    std::uint64_t bits = bits_[word] & (~std::uint64_t{0} << (bin % 64));
    if (bits == 0) {
      word = word_after(word);
      if (word == kWords) return nullptr;
      bits = bits_[word];
    }
    const std::size_t found = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    SegmentBlock* block = (*bins_)[found];
    if (found < exact_lists_) return block;
    while (block->left != nullptr) block = block->left;
    return block;
  }
  /// The next word of bits that is not empty; kWords: none.
  std::size_t word_after(std::size_t word) const noexcept {
    ++word;
    for (std::size_t i = word / 64; i < words_.size(); ++i) {
      const std::uint64_t mask =
          i == word / 64 ? ~std::uint64_t{0} << (word % 64) : ~std::uint64_t{0};
      const std::uint64_t words = words_[i] & mask;
      if (words != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(words));
    }
    return kWords;
  }
  static SegmentBlock* at_least(SegmentBlock* tree, std::uint64_t size) noexcept {
    SegmentBlock* best = nullptr;
    while (tree != nullptr) {
      if (tree->size >= size) {
        best = tree;
        tree = tree->left;
      } else {
        tree = tree->right;
      }
    }
    return best;
  }
  static void insert_into(SegmentBlock*& root, SegmentBlock& block) noexcept;
  void erase_from(SegmentBlock*& root, SegmentBlock& block) noexcept;

  std::size_t exact_lists_;  // bins below hold lists
  std::array<std::uint64_t, 2> words_ = {};
  std::array<std::uint64_t, kWords> bits_ = {};
  std::unique_ptr<std::array<SegmentBlock*, kBins>> bins_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace strandline::alloc
