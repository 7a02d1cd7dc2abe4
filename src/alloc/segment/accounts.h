// SPDX-License-Identifier: Apache-2.0
// The books behind SegmentStatistics: a few adds and compares a step, everything else derived when
// somebody asks.
//
//   current[all] = current[small] + current[large], so only the peak of all is kept
//   freed = added - current
//   every block handed out becomes active at once: what is added to allocation and allocated_bytes
//   is what is added to active and active_bytes
//
// Not synchronised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "strandline/alloc/segment_statistics.h"

namespace strandline::alloc {

/// What is counted, by pool.
enum class Count : std::uint8_t {
  allocation,
  active,
  inactive_split,
  segment,
  allocated_bytes,
  active_bytes,
  inactive_split_bytes,
  requested_bytes,
  reserved_bytes,
};
inline constexpr std::size_t kCounts = 9;

class Accounts {
 public:
  enum Pool : std::uint8_t { small = 0, large = 1 };

  void add(Pool pool, Count what, std::uint64_t amount) noexcept {
    const auto i = static_cast<std::size_t>(what);
    added_[pool][i] += amount;
    current_[pool][i] += amount;
    raise_peaks(pool, i);
  }
  void subtract(Pool pool, Count what, std::uint64_t amount) noexcept {
    current_[pool][static_cast<std::size_t>(what)] -= amount;
  }
  /// What is there was taken away and added again, so many times.
  void repeat(Pool pool, Count what, std::uint64_t amount, std::uint64_t times) noexcept {
    added_[pool][static_cast<std::size_t>(what)] += amount * times;
  }
  /// What was added last was another amount.
  void replace_last(Pool pool, Count what, std::uint64_t was, std::uint64_t is) noexcept {
    const auto i = static_cast<std::size_t>(what);
    added_[pool][i] -= was;
    current_[pool][i] -= was;
    add(pool, what, is);
  }
  /// So many times changed and changed back.
  void swing(Pool pool, Count what, std::int64_t by, std::uint64_t times) noexcept {
    const auto i = static_cast<std::size_t>(what);
    const auto amount = static_cast<std::uint64_t>(by < 0 ? -by : by);
    added_[pool][i] += amount * times;
    if (by <= 0) return;
    current_[pool][i] += amount;
    raise_peaks(pool, i);
    current_[pool][i] -= amount;
  }
  /// Adds where the change is positive, subtracts where it is negative.
  void change(Pool pool, Count what, std::int64_t by) noexcept {
    if (by >= 0) {
      add(pool, what, static_cast<std::uint64_t>(by));
    } else {
      subtract(pool, what, static_cast<std::uint64_t>(-by));
    }
  }

  std::uint64_t current(Pool pool, Count what) const noexcept {
    return current_[pool][static_cast<std::size_t>(what)];
  }
  std::uint64_t current(Count what) const noexcept {
    return current(small, what) + current(large, what);
  }

  StatByPool stat(Count what) const noexcept;
  void reset_peaks() noexcept;
  void reset_added() noexcept;

 private:
  using Row = std::array<std::uint64_t, kCounts>;
  static constexpr std::size_t kAll = 2;

  void raise_peaks(Pool pool, std::size_t i) noexcept {
    const std::uint64_t now = current_[pool][i];
    if (now > peak_[pool][i]) [[unlikely]] {
      peak_[pool][i] = now;
    }
    const std::uint64_t all = current_[small][i] + current_[large][i];
    if (all > peak_[kAll][i]) [[unlikely]] {
      peak_[kAll][i] = all;
    }
  }

  std::array<Row, 2> current_ = {};
  std::array<Row, 2> added_ = {};
  std::array<Row, 3> peak_ = {};
  // At the last reset.
  std::array<Row, 2> added_then_ = {};
  std::array<Row, 2> freed_then_ = {};
};

/// One number that is not counted by pool.
class Account {
 public:
  void add(std::uint64_t amount) noexcept {
    stat_.current += static_cast<std::int64_t>(amount);
    stat_.allocated += static_cast<std::int64_t>(amount);
    if (stat_.current > stat_.peak) stat_.peak = stat_.current;
  }
  void subtract(std::uint64_t amount) noexcept {
    stat_.current -= static_cast<std::int64_t>(amount);
    stat_.freed += static_cast<std::int64_t>(amount);
  }
  const Stat& stat() const noexcept { return stat_; }
  void reset_peak() noexcept { stat_.peak = stat_.current; }
  void reset_added() noexcept {
    stat_.allocated = 0;
    stat_.freed = 0;
  }

 private:
  Stat stat_;
};

}  // namespace strandline::alloc
