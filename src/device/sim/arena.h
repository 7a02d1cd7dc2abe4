// SPDX-License-Identifier: Apache-2.0
// The address space of a machine: one inaccessible mapping, out of which ranges are handed out,
// made accessible, and taken back. What is taken back is poisoned where it was touched and made
// inaccessible elsewhere. Not synchronised.
//
//   invariant: ranges handed out never overlap; holes_ are maximal and lie below next_
//   invariant: every byte outside ranges handed out is inaccessible or poisoned
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "device/sim/range_set.h"
#include "strandline/device/sim/options.h"
#include "strandline/device/types.h"

namespace strandline::sim {

/// What the system maps and protects memory in.
inline constexpr std::uint64_t kSystemPage = 4096;

class Arena {
 public:
  explicit Arena(const MachineOptions& options);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] device::Address base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] bool contains(device::Address address) const noexcept {
    return address - base_ < size_;
  }

  /// Addresses only; 0 when there is no room. `bytes` and `alignment` as whole system pages.
  [[nodiscard]] device::Address take(std::uint64_t bytes, std::uint64_t alignment);
  void give_back(device::Address address, std::uint64_t bytes) noexcept;

  /// Makes a range that was taken readable and writable; false when the system refuses.
  [[nodiscard]] bool open(device::Address address, std::uint64_t bytes) noexcept;
  /// Poisons and closes an open range, and gives it back.
  void retire(device::Address address, std::uint64_t bytes) noexcept;

  /// The bytes are nobody's, and can be read: all poison.
  [[nodiscard]] bool is_poisoned(device::Address address, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t poisoned_bytes() const { return poisoned_.total(); }

 private:
  [[nodiscard]] device::Address take_hole(std::uint64_t bytes, std::uint64_t alignment);
  void cut_hole(device::Address hole, device::Address address, std::uint64_t bytes);
  void add_hole(device::Address address, std::uint64_t bytes);
  void erase_hole(std::map<device::Address, std::uint64_t>::iterator hole);
  void poison_touched(device::Address address, std::uint64_t bytes) noexcept;
  void close(device::Address address, std::uint64_t bytes) noexcept;
  void limit_poison() noexcept;

  const AddressReuse reuse_;
  const int poison_;
  const std::uint64_t poisoned_bytes_kept_;
  device::Address base_ = 0;
  std::uint64_t size_ = 0;
  device::Address next_ = 0;
  device::Address freed_last_ = 0;
  std::map<device::Address, std::uint64_t> holes_;                     // address -> bytes
  std::set<std::pair<std::uint64_t, device::Address>> holes_by_size_;  // (bytes, address)
  RangeSet poisoned_;
  std::deque<std::pair<device::Address, device::Address>> poison_queue_;  // oldest first
  std::uint64_t queued_poison_ = 0;                                       // bytes in the queue
};

}  // namespace strandline::sim
