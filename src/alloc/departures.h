// SPDX-License-Identifier: Apache-2.0
// Blocks on their way back to the device. They are chosen under the allocator's lock and given back
// without it, since a device may wait in deallocate, and what it waits for may free memory here.
//
//   under the lock      use = leaving, linked in Core's list, still reserved
//   without             Memory::deallocate
//   under the lock      settled: gone, its event written; or refused by the device, and kept
//
// As soon as the device has taken the bytes back it may hand them to another thread of ours, which
// then settles the block first: events stay in an order that addresses agree with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloc/block_table.h"

namespace strandline::alloc {

/// A batch on the stack of the thread that gives it back. Uninitialised beyond `count`: a free that
/// returns nothing to the device must not pay for it.
class Departures {
 public:
  struct One {
    Block* block;
    std::uint32_t serial;
    device::Address address;
    std::uint64_t bytes;
    bool is_wired;
  };

  Departures() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the array alone

  bool empty() const noexcept { return count_ == 0; }
  bool full() const noexcept { return count_ == kCapacity; }
  void add(Block& block, bool is_wired) noexcept {
    items_[count_++] = {&block, block.serial, block.address, block.size, is_wired};
  }
  const One* begin() const noexcept { return items_.data(); }
  const One* end() const noexcept { return items_.data() + count_; }

 private:
  static constexpr std::size_t kCapacity = 32;

  std::size_t count_ = 0;
  std::array<One, kCapacity> items_;
};

}  // namespace strandline::alloc
