// SPDX-License-Identifier: Apache-2.0
// What an allocator knows of each piece of memory it hands out, found by address in O(1). A record
// is made when memory comes from the device and lives until it returns there, so that reuse costs
// no bookkeeping of nodes. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"
#include "strandline/device/types.h"

namespace strandline::alloc {

enum class BlockKind : std::uint8_t {
  whole,    ///< a buffer of the device
  slot,     ///< a slot of a small heap's region
  region,   ///< a buffer that a small heap cuts into slots; in no address table
  wrapped,  ///< foreign memory
};

enum class BlockUse : std::uint8_t {
  unused,     ///< the record stands for nothing
  allocated,  ///< handed out; a region: serves slots
  kept,       ///< free: a cached buffer, a free slot
  leaving,    ///< on its way back to the device; linked in the allocator's list of those
};

/// One record; `serial` tells apart what it stood for over time.
struct Block {
  device::Address address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  device::BufferId buffer;  ///< of the device; a slot's: that of its region
  Block* next = nullptr;    ///< while leaving: the list; while unused: the free list
  Block* previous = nullptr;
  StreamId stream;
  std::uint32_t serial = 0;
  BlockKind kind = BlockKind::whole;
  BlockUse use = BlockUse::unused;
  bool in_record : 1 = false;    ///< the recorder has been told of it and hears what follows
  bool was_freed : 1 = false;    ///< leaving: by the program's free, not from the cache
  bool has_writers : 1 = false;  ///< Core::writers_ knows more streams
  std::uint32_t fit_epoch = 0;   ///< see BufferPool::take_front
};
static_assert(sizeof(Block) == 64, "one cache line");

class BlockTable {
 public:
  Block* find(device::Address address) noexcept {
    Block** found = by_address_.find(address);
    return found == nullptr ? nullptr : *found;
  }
  const Block* find(device::Address address) const noexcept {
    return const_cast<BlockTable*>(this)->find(address);
  }

  /// A record found by `address`, which none is yet. bad_alloc leaves the table as it was.
  Block& add(device::Address address);
  /// A record that is found by nothing.
  Block& add_unlisted(device::Address address);
  void remove(Block& block) noexcept;

  std::size_t listed() const noexcept { return by_address_.size(); }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const std::unique_ptr<Block[]>& chunk : chunks_) {
      for (std::size_t i = 0; i < kChunk; ++i) {
        if (chunk[i].use != BlockUse::unused) visit(chunk[i]);
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = 256;

  FlatMap<Block*> by_address_;
  std::vector<std::unique_ptr<Block[]>> chunks_;
  Block* unused_ = nullptr;
};

}  // namespace strandline::alloc
