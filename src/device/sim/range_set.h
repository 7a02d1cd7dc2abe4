// SPDX-License-Identifier: Apache-2.0
// A set of bytes as disjoint ranges that do not touch.
//   invariant: for neighbours a, b: a.end < b.begin
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace strandline::sim {

class RangeSet {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }

  void remove(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin()) --next;
    while (next != ranges_.end() && next->first < end) {
      const auto [first, last] = *next;
      if (last <= begin) {
        ++next;
        continue;
      }
      next = ranges_.erase(next);
      if (first < begin) ranges_.emplace(first, begin);
      if (last > end) ranges_.emplace(end, last);
    }
  }

  /// The first byte of [begin, end) that is not in the set; `end` when all are.
  [[nodiscard]] std::uint64_t first_missing(std::uint64_t begin, std::uint64_t end) const {
    const auto next = ranges_.upper_bound(begin);
    if (next == ranges_.begin()) return begin;
    const std::uint64_t covered = std::prev(next)->second;
    return covered <= begin ? begin : std::min(covered, end);
  }

  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& [begin, end] : ranges_) sum += end - begin;
    return sum;
  }
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin -> end
};

}  // namespace strandline::sim
