// SPDX-License-Identifier: Apache-2.0
// What an allocator knows of each piece of memory it hands out, found by address in O(1). A record
// is made when memory comes from the device and lives until it returns there, so that reuse costs
// no bookkeeping of nodes. Records lie in chunks, each twice as large as the one before up to a
// huge page: with a hundred thousand blocks, what a random free touches is in no cache and should
// at least be in no page table. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"
#include "strandline/device/types.h"

namespace strandline::alloc {

enum class BlockKind : std::uint8_t {
  whole,    ///< a buffer of the device
  slot,     ///< a slot of a small heap's region, a block of a segment
  region,   ///< a buffer that is cut into slots; in no address table
  wrapped,  ///< foreign memory
};

enum class BlockUse : std::uint8_t {
  unused,     ///< the record stands for nothing
  allocated,  ///< handed out; a region: serves slots
  kept,       ///< free: a cached buffer, a free slot
  leaving,    ///< on its way back to the device; linked in the allocator's list of those
  pending,    ///< freed by the program, still in use by a stream: active
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
  bool has_uses : 1 = false;     ///< streams beyond its own use it: Core::do_defer takes it back
  bool is_listed : 1 = false;    ///< found by its address
  std::uint32_t fit_epoch = 0;   ///< see BufferPool::take_front
};
static_assert(sizeof(Block) == 64, "one cache line");

class BlockTable {
 public:
  /// A table of records that are more than a Block, which comes first in them.
  template <typename Record>
  static BlockTable of() {
    static_assert(std::is_base_of_v<Block, Record> && std::is_trivially_destructible_v<Record>);
    return BlockTable(sizeof(Record), [](void* place) -> Block* { return ::new (place) Record; });
  }
  BlockTable() : BlockTable(of<Block>()) {}

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

  /// So many records, and finding them by address, cost no memory from the host any more.
  void reserve_unused(std::size_t records);
  bool has_unused(std::size_t records) const noexcept { return unused_count_ >= records; }
  /// Finds a record that is unlisted by its address from now on; after reserve_unused for all.
  /// The record that was found there is not any more, and returned.
  Block* list(Block& block) noexcept {
    Block*& listed = by_address_[block.address];
    Block* before = listed;
    listed = &block;
    block.is_listed = true;
    return before;
  }
  void unlist(Block& block) noexcept {
    by_address_.erase(block.address);
    block.is_listed = false;
  }

  /// `address` will be listed, unlisted or looked for soon.
  void expect(device::Address address) const noexcept { by_address_.prefetch(address); }

  std::size_t listed() const noexcept { return by_address_.size(); }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Chunk& chunk : chunks_) {
      const bool is_last = &chunk == &chunks_.back();
      for (std::size_t i = 0; i < (is_last ? made_in_last_ : chunk.records); ++i) {
        Block& block = record(chunk, i);
        if (block.use != BlockUse::unused) visit(block);
      }
    }
  }

 private:
  static constexpr std::size_t kFirstRecords = 256;
  static constexpr std::size_t kHugePage = 2 << 20;

  struct Release {
    std::align_val_t alignment;
    void operator()(std::byte* bytes) const noexcept { ::operator delete(bytes, alignment); }
  };
  struct Chunk {
    std::unique_ptr<std::byte, Release> bytes;
    std::size_t records = 0;
  };
  using Construct = Block* (*)(void* place);

  BlockTable(std::size_t record_bytes, Construct construct)
      : record_bytes_(record_bytes), construct_(construct) {}
  Block& record(const Chunk& chunk, std::size_t index) const noexcept {
    return *std::launder(reinterpret_cast<Block*>(chunk.bytes.get() + index * record_bytes_));
  }
  Block& make_in_last();
  void add_chunk();

  std::size_t record_bytes_;
  Construct construct_;
  FlatMap<Block*> by_address_;
  std::vector<Chunk> chunks_;
  std::size_t made_in_last_ = 0;  // of the last chunk, from its start; all others are made
  Block* unused_ = nullptr;
  std::size_t unused_count_ = 0;  // in that list, or not made yet
};

}  // namespace strandline::alloc
