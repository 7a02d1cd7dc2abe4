// SPDX-License-Identifier: Apache-2.0
// Records come in chunks that are never given back: pointers to them stay good.
#include "alloc/block_table.h"

namespace strandline::alloc {

Block& BlockTable::add_unlisted(device::Address address) {
  if (unused_ == nullptr) {
    auto chunk = std::make_unique<Block[]>(kChunk);
    chunks_.push_back(std::move(chunk));
    for (std::size_t i = kChunk; i-- > 0;) {
      Block& block = chunks_.back()[i];
      block.next = unused_;
      unused_ = &block;
    }
  }
  Block& block = *unused_;
  unused_ = block.next;
  const std::uint32_t serial = block.serial + 1;
  block = Block{};
  block.serial = serial;
  block.address = address;
  block.use = BlockUse::kept;
  return block;
}

Block& BlockTable::add(device::Address address) {
  Block& block = add_unlisted(address);
  try {
    by_address_[address] = &block;
  } catch (...) {
    remove(block);
    throw;
  }
  return block;
}

void BlockTable::remove(Block& block) noexcept {
  Block* const* listed = by_address_.find(block.address);
  if (listed != nullptr && *listed == &block) by_address_.erase(block.address);
  block.use = BlockUse::unused;
  block.previous = nullptr;
  block.next = unused_;
  unused_ = &block;
}

}  // namespace strandline::alloc
