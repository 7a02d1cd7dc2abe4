// SPDX-License-Identifier: Apache-2.0
// The trees of bins with more than one block, walks in order, and the invariants.
#include "alloc/segment/best_fit.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "strandline/core/error.h"

namespace strandline::alloc {

void BestFit::insert_into(SegmentBlock*& root, SegmentBlock& block) noexcept {
  SegmentBlock** link = &root;
  while (*link != nullptr && (*link)->priority >= block.priority) {
    link = before(block, **link) ? &(*link)->left : &(*link)->right;
  }
  // What is below comes apart into what serves before and after the block.
  SegmentBlock* rest = *link;
  SegmentBlock** lower = &block.left;
  SegmentBlock** upper = &block.right;
  while (rest != nullptr) {
    if (before(*rest, block)) {
      *lower = rest;
      lower = &rest->right;
      rest = rest->right;
    } else {
      *upper = rest;
      upper = &rest->left;
      rest = rest->left;
    }
  }
  *lower = nullptr;
  *upper = nullptr;
  *link = &block;
}

void BestFit::erase_from(SegmentBlock*& root, SegmentBlock& block) noexcept {
  SegmentBlock** link = &root;
  while (*link != &block) {
    link = before(block, **link) ? &(*link)->left : &(*link)->right;
  }
  SegmentBlock* lower = block.left;
  SegmentBlock* upper = block.right;
  while (lower != nullptr && upper != nullptr) {
    if (lower->priority >= upper->priority) {
      *link = lower;
      link = &lower->right;
      lower = lower->right;
    } else {
      *link = upper;
      link = &upper->left;
      upper = upper->left;
    }
  }
  *link = lower != nullptr ? lower : upper;
}

SegmentBlock* BestFit::last() const noexcept {
  std::size_t word = kWords;
  while (word > 0 && bits_[word - 1] == 0) --word;
  if (word == 0) return nullptr;
  const auto bit = static_cast<std::size_t>(63 - std::countl_zero(bits_[word - 1]));
  SegmentBlock* block = (*bins_)[(word - 1) * 64 + bit];
  while (block->right != nullptr) block = block->right;
  return block;
}

SegmentBlock* BestFit::after(const SegmentBlock& block) const noexcept {
  const std::size_t bin = bin_of(block.size);
  if (bin < exact_lists_) return block.right != nullptr ? block.right : lowest_from(bin + 1);
  SegmentBlock* best = nullptr;
  for (SegmentBlock* tree = (*bins_)[bin]; tree != nullptr;) {
    if (before(block, *tree)) {
      best = tree;
      tree = tree->left;
    } else {
      tree = tree->right;
    }
  }
  return best != nullptr ? best : lowest_from(bin + 1);
}

SegmentBlock* BestFit::ahead_of(const SegmentBlock& block) const noexcept {
  const std::size_t own = bin_of(block.size);
  if (own < exact_lists_ && block.left != nullptr) return block.left;
  for (std::size_t bin = own < exact_lists_ ? own : own + 1; bin-- > 0;) {
    if (!has(bin)) continue;
    if (bin < exact_lists_) {
      SegmentBlock* block_there = (*bins_)[bin];
      while (block_there->right != nullptr) block_there = block_there->right;
      return block_there;
    }
    SegmentBlock* best = nullptr;
    for (SegmentBlock* tree = (*bins_)[bin]; tree != nullptr;) {
      if (before(*tree, block)) {
        best = tree;
        tree = tree->right;
      } else {
        tree = tree->left;
      }
    }
    if (best != nullptr) return best;
  }
  return nullptr;
}

// -- invariants -----------------------------------------------------------------------------------

namespace {

void check(bool holds, const char* what, std::uint64_t got, std::uint64_t expected) {
  if (holds) return;
  throw InternalError(
      error_message("BestFit::validate", what, std::to_string(got), std::to_string(expected)));
}

}  // namespace

void BestFit::validate() const {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    SegmentBlock* root = (*bins_)[bin];
    check(has(bin) == (root != nullptr), "the bit of a bin", bin, bin);
    if (bin < exact_lists_) {
      const SegmentBlock* ahead = nullptr;
      for (const SegmentBlock* one = root; one != nullptr; ahead = one, one = one->right) {
        check(bin_of(one->size) == bin, "a block in another bin", bin_of(one->size), bin);
        check(one->use == BlockUse::kept, "a block that is not free", one->address, 0);
        check(one->left == ahead, "links of a list", one->address, 0);
        ++count;
        bytes += one->size;
      }
      continue;
    }
    const SegmentBlock* earlier = nullptr;
    std::vector<SegmentBlock*> path;
    for (SegmentBlock* tree = root; tree != nullptr || !path.empty();) {
      if (tree != nullptr) {
        path.push_back(tree);
        tree = tree->left;
        continue;
      }
      tree = path.back();
      path.pop_back();
      check(bin_of(tree->size) == bin, "a block in another bin", bin_of(tree->size), bin);
      check(tree->use == BlockUse::kept, "a block that is not free", tree->address, 0);
      check(earlier == nullptr || before(*earlier, *tree), "order", tree->size, 0);
      for (const SegmentBlock* child : {tree->left, tree->right}) {
        check(child == nullptr || child->priority <= tree->priority, "heap", tree->priority, 0);
      }
      ++count;
      bytes += tree->size;
      earlier = tree;
      tree = tree->right;
    }
  }
  for (std::size_t word = 0; word < kWords; ++word) {
    const bool marked = (words_[word / 64] >> (word % 64) & 1) != 0;
    check(marked == (bits_[word] != 0), "the bit of a word", word, word);
  }
  check(count == count_, "blocks", count_, count);
  check(bytes == bytes_, "bytes", bytes_, bytes);
}

}  // namespace strandline::alloc
