// SPDX-License-Identifier: Apache-2.0
// The reference: a segment allocator as one writes it down first, over the same policy (512 B
// rounding, segments of 2 MiB, 20 MiB or the request, best fit on the stream, split and merge) and
// ordered sets and maps of the standard library. No limits, no events, no pools, no record; of
// statistics only what is active and reserved. Segments are address ranges that nobody touches.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

namespace bench {

class OrderedMap {
 public:
  using Block = void*;

  Block malloc(std::size_t bytes, std::size_t stream = 0) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t size = (bytes + kUnit - 1) / kUnit * kUnit;
    const bool is_small = size <= kSmallLimit;
    const auto found = free_[is_small].lower_bound({stream, size, 0});
    std::uint64_t address = 0;
    if (found != free_[is_small].end() && found->stream == stream) {
      address = found->address;
      free_[is_small].erase(found);
    } else {
      address = add_segment(size, stream, is_small);
    }
    Range& range = ranges_.at(address);
    const std::uint64_t rest = range.size - size;
    if (is_small ? rest >= kUnit : rest > kSmallLimit) {
      range.size = size;
      ranges_.emplace(address + size, Range{rest, stream, range.segment, is_small, true});
      free_[is_small].insert({stream, rest, address + size});
    }
    range.is_free = false;
    active_ += range.size;
    return reinterpret_cast<void*>(address);
  }

  void free(Block block, std::size_t) {
    const std::lock_guard lock(mutex_);
    auto at = ranges_.find(reinterpret_cast<std::uint64_t>(block));
    if (at == ranges_.end() || at->second.is_free) throw std::invalid_argument("unknown block");
    active_ -= at->second.size;
    at->second.is_free = true;
    if (const auto next = std::next(at); next != ranges_.end()) merge(at, next);
    if (at != ranges_.begin()) {
      if (const auto before = std::prev(at); merge(before, at)) at = before;
    }
    const Range& range = at->second;
    free_[range.is_small].insert({range.stream, range.size, at->first});
  }

  void* pointer(Block block) { return block; }
  std::size_t usable(Block block) {
    return ranges_.at(reinterpret_cast<std::uint64_t>(block)).size;
  }
  std::int64_t active() { return static_cast<std::int64_t>(active_); }
  std::uint64_t reserved() { return reserved_; }

 private:
  static constexpr std::uint64_t kUnit = 512;
  static constexpr std::uint64_t kSmallLimit = 1 << 20;
  static constexpr std::uint64_t kSmallSegment = 2 << 20;
  static constexpr std::uint64_t kLargeSegment = 20 << 20;
  static constexpr std::uint64_t kOwnSegment = 10 << 20;

  struct Range {
    std::uint64_t size = 0;
    std::size_t stream = 0;
    std::uint64_t segment = 0;
    bool is_small = false;
    bool is_free = true;
  };
  struct Key {
    std::size_t stream = 0;
    std::uint64_t size = 0;
    std::uint64_t address = 0;

    auto operator<=>(const Key&) const = default;
  };
  using Ranges = std::map<std::uint64_t, Range>;

  std::uint64_t add_segment(std::uint64_t size, std::size_t stream, bool is_small) {
    std::uint64_t bytes = is_small ? kSmallSegment : kLargeSegment;
    if (size >= kOwnSegment) bytes = (size + kSmallSegment - 1) / kSmallSegment * kSmallSegment;
    const std::uint64_t address = next_;
    next_ += bytes;
    reserved_ += bytes;
    ranges_.emplace(address, Range{bytes, stream, address, is_small, true});
    return address;
  }

  // `first` swallows `second` when both are free and of one segment; one of them is in no set yet.
  bool merge(Ranges::iterator first, Ranges::iterator second) {
    Range& a = first->second;
    Range& b = second->second;
    if (!a.is_free || !b.is_free || a.segment != b.segment) return false;
    free_[a.is_small].erase({a.stream, a.size, first->first});
    free_[b.is_small].erase({b.stream, b.size, second->first});
    a.size += b.size;
    ranges_.erase(second);
    return true;
  }

  std::mutex mutex_;
  std::set<Key> free_[2];
  Ranges ranges_;
  std::uint64_t next_ = std::uint64_t{1} << 40;
  std::uint64_t active_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace bench
