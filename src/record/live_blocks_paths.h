// SPDX-License-Identifier: Apache-2.0
// What happens to a block with every allocation, binding and free, compiled into the recorder's
// functions that do so: a call of each piece costs as much as the piece. Private to the room.
#pragma once

#include <memory>

#include "strandline/record/live_blocks.h"

// Also a function of its own, for others than the recorder.
#define STRANDLINE_PATH __attribute__((used)) STRANDLINE_ALWAYS_INLINE

namespace strandline::record {

STRANDLINE_ALWAYS_INLINE LiveBlocks::Entry* LiveBlocks::live_at(std::uint64_t address) noexcept {
  const Index* found = by_address_.find(address);
  if (found == nullptr) return nullptr;
  Entry& entry = entries_[*found];
  return entry.order != 0 ? &entry : nullptr;
}

STRANDLINE_ALWAYS_INLINE const LiveBlocks::Sharer* LiveBlocks::sharer_of(
    ArrayKey array) const noexcept {
  const Index* found = by_array_.find(array.value);
  if (found == nullptr) return nullptr;
  const Sharer& sharer = sharers_[*found];
  return sharer.block != kNone ? &sharer : nullptr;
}

STRANDLINE_ALWAYS_INLINE bool LiveBlocks::is_in_peak(const Entry& entry,
                                                     std::size_t measure) const noexcept {
  return entry.order <= peaks_[measure].order && entry.kept_epoch[measure] != peaks_[measure].epoch;
}

STRANDLINE_ALWAYS_INLINE void LiveBlocks::keep_for_peaks(Entry& entry) {
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    if (is_in_peak(entry, m)) keep_for_peak(entry, m);
  }
}

STRANDLINE_PATH LiveBlock& LiveBlocks::open(std::uint64_t address, std::uint64_t size,
                                            std::uint64_t requested) {
  if (free_entries_.empty()) [[unlikely]] {
    make_free_entry();
  }
  const auto [listed, is_new] = by_address_.insert(address);
  if (is_new) {
    *listed = free_entries_.back();
    free_entries_.pop_back();
  } else if (entries_[*listed].order != 0) [[unlikely]] {
    drop_double(address);
  }
  Entry& entry = *std::construct_at(&entries_[*listed]);
  entry.block.address = address;
  entry.block.size = size;
  entry.block.requested = requested;
  entry.order = ++order_;
  ++live_count_;
  sums_[index(Measure::capacity)] += size;
  sums_[index(Measure::requested)] += requested;
  return entry.block;
}

STRANDLINE_PATH void LiveBlocks::update_peaks(std::uint64_t sequence,
                                              std::uint64_t ticks) noexcept {
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    if (sums_[m] > peaks_[m].peak.bytes) [[unlikely]] {
      set_peak(m, sequence, ticks);
    }
  }
}

STRANDLINE_PATH const LiveBlock* LiveBlocks::remove(std::uint64_t address) {
  Entry* const entry = live_at(address);
  if (entry == nullptr) return nullptr;
  keep_for_peaks(*entry);
  for (Index sharer = entry->first_sharer; sharer != kNone; sharer = sharers_[sharer].next) {
    sharers_[sharer].block = kNone;
    --bound_count_;
  }
  sums_[index(Measure::capacity)] -= entry->block.size;
  sums_[index(Measure::requested)] -= entry->block.requested;
  entry->order = 0;
  --live_count_;
  return &entry->block;
}

STRANDLINE_ALWAYS_INLINE void LiveBlocks::link(Index sharer, Index block) noexcept {
  Entry& entry = entries_[block];
  const bool is_first = entry.first_sharer == kNone;
  sharers_[sharer].block = block;
  sharers_[sharer].previous = is_first ? kNone : entry.last_sharer;
  sharers_[sharer].next = kNone;
  (is_first ? entry.first_sharer : sharers_[entry.last_sharer].next) = sharer;
  entry.last_sharer = sharer;
  ++bound_count_;
}

STRANDLINE_ALWAYS_INLINE LiveBlocks::Binding LiveBlocks::bind_here(Entry& entry, ArrayKey array,
                                                                   const Holder& holder) {
  if (free_sharers_.empty()) [[unlikely]] {
    make_free_sharer();
  }
  const auto here = static_cast<Index>(&entry - entries_.data());
  const auto [listed, is_new] = by_array_.insert(array.value);
  if (is_new) {
    *listed = free_sharers_.back();
    free_sharers_.pop_back();
  } else if (const Index block = sharers_[*listed].block; block != kNone) {
    return {block == here ? Bound::already_bound : Bound::elsewhere, &entry.block};
  }
  const Index sharer = *listed;
  const bool was_bound = entry.last_sharer != kNever;
  sharers_[sharer].array = array;
  sharers_[sharer].holder = holder;
  link(sharer, here);
  if (entry.first_sharer != sharer) return {Bound::further_sharer, &entry.block};
  if (!was_bound) return {Bound::first_sharer, &entry.block};
  keep_for_peaks(entry);
  entry.block.holder = holder;
  return {Bound::next_holder, &entry.block};
}

STRANDLINE_PATH LiveBlocks::Binding LiveBlocks::try_bind(std::uint64_t address, ArrayKey array,
                                                         const Holder& holder, Place place) {
  if (place < entries_.size()) {
    Entry& entry = entries_[place];
    if (entry.order != 0 && entry.block.address == address) return bind_here(entry, array, holder);
  }
  if (Entry* entry = live_at(address)) return bind_here(*entry, array, holder);
  const bool is_bound = sharer_of(array) != nullptr;
  return {.bound = is_bound ? Bound::elsewhere : Bound::unknown_block};
}

template <typename Amend>
STRANDLINE_ALWAYS_INLINE void LiveBlocks::amend(Entry& entry, Amend&& amend_block) noexcept {
  amend_block(entry.block);
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    if (entry.kept_epoch[m] == peaks_[m].epoch) amend_block(peaks_[m].departed[entry.kept_at[m]]);
  }
}

STRANDLINE_PATH void LiveBlocks::amend_holder(const LiveBlock& block,
                                              const Holder& holder) noexcept {
  amend(entry_of(block), [&](LiveBlock& amended) { amended.holder = holder; });
}

}  // namespace strandline::record

#undef STRANDLINE_PATH
