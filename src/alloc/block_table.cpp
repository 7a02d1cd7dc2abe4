// SPDX-License-Identifier: Apache-2.0
// Records come in chunks that are never given back: pointers to them stay good.
#include "alloc/block_table.h"

#include <algorithm>
#include <utility>

#include <sys/mman.h>

namespace strandline::alloc {

Block& BlockTable::make_in_last() {
  Chunk& chunk = chunks_.back();
  return *construct_(chunk.bytes.get() + made_in_last_++ * record_bytes_);
}

void BlockTable::add_chunk() {
  chunks_.reserve(chunks_.size() + 1);
  const std::size_t last = chunks_.empty() ? 0 : chunks_.back().records;
  const std::size_t most = kHugePage / record_bytes_;
  Chunk chunk;
  chunk.records = last == 0 ? kFirstRecords : std::min(2 * last, most);
  std::size_t all = chunk.records;
  for (const Chunk& before : chunks_) all += before.records;
  by_address_.reserve(all);
  const std::size_t bytes = chunk.records * record_bytes_;
  // A whole record in lines that are fetched together.
  const std::size_t alignment = bytes == kHugePage ? kHugePage : 128;
  chunk.bytes = {static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment})),
                 Release{std::align_val_t{alignment}}};
  if (bytes == kHugePage) (void)::madvise(chunk.bytes.get(), bytes, MADV_HUGEPAGE);
  while (last != 0 && made_in_last_ < last) {
    Block& block = make_in_last();
    block.next = unused_;
    unused_ = &block;
  }
  unused_count_ += chunk.records;
  chunks_.push_back(std::move(chunk));
  made_in_last_ = 0;
}

void BlockTable::reserve_unused(std::size_t records) {
  while (!has_unused(records)) add_chunk();
}

Block& BlockTable::add_unlisted(device::Address address) {
  if (unused_count_ == 0) add_chunk();
  Block& block = unused_ != nullptr ? *unused_ : make_in_last();
  if (unused_ != nullptr) unused_ = block.next;
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
