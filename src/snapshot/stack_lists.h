// SPDX-License-Identifier: Apache-2.0
// Stacks by the list of their frames, innermost first, as pickles have them. A list seen before
// costs one look-up; only a new one walks the tree of stacks.
//
//   hash = (…(f0 * K + f1) * K + …) + fn, which the caller adds up while it reads
//
// Lists are kept to be compared, up to a share of what was read; past it the tree alone decides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strandline/snapshot/columns.h"

namespace strandline::snapshot {

class StackLists {
 public:
  explicit StackLists(StackTree& tree) : tree_(tree) {}

  static constexpr std::uint64_t add(std::uint64_t hash, std::uint32_t frame) noexcept {
    return hash * 0x9E3779B97F4A7C15ULL + frame;
  }

  /// `frames` are ids, none of them 0; `bytes_read` bounds what is kept.
  StackId find(std::span<const std::uint32_t> frames, std::uint64_t hash, std::uint64_t bytes_read);

 private:
  struct List {
    std::uint64_t begin = 0;
    std::uint32_t length = 0;
    StackId stack{};
  };

  StackId in_tree(std::span<const std::uint32_t> frames);

  StackTree& tree_;
  FlatMap<std::uint32_t> index_;  // hash -> number of the list, from 1 on
  std::vector<List> lists_;
  std::vector<std::uint32_t> frames_;
};

}  // namespace strandline::snapshot
