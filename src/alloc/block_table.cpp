// SPDX-License-Identifier: Apache-2.0
// Records come in chunks that are never given back: pointers to them stay good.
#include "alloc/block_table.h"

namespace strandline::alloc {

void BlockTable::add_chunk() {
  chunks_.reserve(chunks_.size() + 1);
  by_address_.reserve((chunks_.size() + 1) * kChunk);
  Chunk chunk(static_cast<std::byte*>(::operator new(kChunk* record_bytes_, kAlign)));
  for (std::size_t i = kChunk; i-- > 0;) {
    Block& block = *construct_(chunk.get() + i * record_bytes_);
    block.next = unused_;
    unused_ = &block;
  }
  unused_count_ += kChunk;
  chunks_.push_back(std::move(chunk));
}

void BlockTable::reserve_unused(std::size_t records) {
  while (!has_unused(records)) add_chunk();
}

Block& BlockTable::add_unlisted(device::Address address) {
  if (unused_ == nullptr) add_chunk();
  Block& block = *unused_;
  unused_ = block.next;
  --unused_count_;
  const std::uint32_t serial = block.serial + 1;
  block = Block{};
  block.serial = serial;
  block.address = address;
  block.use = BlockUse::kept;
  return block;
}

Block& BlockTable::add(device::Address address) {
  Block& block = add_unlisted(address);
  list(block);  // there is room, see add_chunk
  return block;
}

void BlockTable::remove(Block& block) noexcept {
  if (block.is_listed) {
    Block* const* listed = by_address_.find(block.address);
    if (listed != nullptr && *listed == &block) unlist(block);
  }
  block.use = BlockUse::unused;
  block.previous = nullptr;
  block.next = unused_;
  unused_ = &block;
  ++unused_count_;
}

}  // namespace strandline::alloc
