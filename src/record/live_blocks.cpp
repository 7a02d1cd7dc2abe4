// SPDX-License-Identifier: Apache-2.0
// Live blocks, sharers and peak sets. A new peak costs a comparison and a few stores: the set
// itself is only written down when one of its blocks is about to change or go.
#include <algorithm>

#include "live_blocks_paths.h"

namespace strandline::record {
namespace {

void sort_by_address(std::vector<LiveBlock>& blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
}

}  // namespace

// Vacant ones are only searched for when there are as many of them as are met on the way.
void LiveBlocks::make_free_entry() {
  const std::size_t vacant = by_address_.size() - live_count_;
  if (vacant <= std::max(live_count_, kMostVacant)) {
    entries_.emplace_back();
    free_entries_.push_back(static_cast<Index>(entries_.size() - 1));
    return;
  }
  free_entries_.reserve(vacant);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.order != 0) continue;
    by_address_.erase(entry.block.address);
    entry.block.address = 0;
    free_entries_.push_back(static_cast<Index>(i));
  }
}

void LiveBlocks::drop_double(std::uint64_t address) {
  remove(address);
  ++double_allocs_;
}

void LiveBlocks::reset_peaks(std::uint64_t sequence, std::uint64_t ticks) {
  for (std::size_t m = 0; m < kMeasureCount; ++m) set_peak(m, sequence, ticks);
}

const LiveBlock* LiveBlocks::find(std::uint64_t address) const noexcept {
  const Entry* entry = const_cast<LiveBlocks*>(this)->live_at(address);
  return entry == nullptr ? nullptr : &entry->block;
}

void LiveBlocks::make_free_sharer() {
  const std::size_t vacant = by_array_.size() - bound_count_;
  if (vacant <= std::max(bound_count_, kMostVacant)) {
    sharers_.emplace_back();
    free_sharers_.push_back(static_cast<Index>(sharers_.size() - 1));
    return;
  }
  free_sharers_.reserve(vacant);
  for (std::size_t i = 0; i < sharers_.size(); ++i) {
    Sharer& sharer = sharers_[i];
    if (sharer.block != kNone) continue;
    by_array_.erase(sharer.array.value);
    sharer.array = {};
    free_sharers_.push_back(static_cast<Index>(i));
  }
}

LiveBlocks::Bound LiveBlocks::bind(std::uint64_t address, ArrayKey array, const Holder& holder) {
  Bound bound = try_bind(address, array, holder).bound;
  if (bound != Bound::elsewhere) return bound;
  leave(array);
  return try_bind(address, array, holder).bound;
}

const LiveBlock* LiveBlocks::leave(ArrayKey array) {
  const Sharer* const gone = sharer_of(array);
  if (gone == nullptr) return nullptr;
  const auto at = static_cast<Index>(gone - sharers_.data());
  Entry& entry = entries_[gone->block];
  const bool was_holder = entry.first_sharer == at;
  if (was_holder && gone->next != kNone) keep_for_peaks(entry);
  unlink(at);
  if (!was_holder || entry.first_sharer == kNone) return nullptr;
  entry.block.holder = sharers_[entry.first_sharer].holder;
  return &entry.block;
}

void LiveBlocks::amend_holder(std::uint64_t address, const Holder& holder) noexcept {
  if (const Entry* entry = live_at(address)) amend_holder(entry->block, holder);
}

const LiveBlock* LiveBlocks::set_label(std::uint64_t address, LabelId label) noexcept {
  Entry* const entry = live_at(address);
  if (entry == nullptr) return nullptr;
  amend(*entry, [&](LiveBlock& block) { block.holder.label = label; });
  if (entry->first_sharer != kNone) sharers_[entry->first_sharer].holder.label = label;
  return &entry->block;
}

const LiveBlock* LiveBlocks::block_of(ArrayKey array) const noexcept {
  const Sharer* sharer = sharer_of(array);
  return sharer == nullptr ? nullptr : &entries_[sharer->block].block;
}

void LiveBlocks::set_sharer_label(ArrayKey array, LabelId label) noexcept {
  if (const Sharer* sharer = sharer_of(array)) const_cast<Sharer*>(sharer)->holder.label = label;
}

std::vector<LiveBlock> LiveBlocks::blocks() const {
  std::vector<LiveBlock> blocks;
  blocks.reserve(live_count_);
  for (const Entry& entry : entries_) {
    if (entry.order != 0) blocks.push_back(entry.block);
  }
  sort_by_address(blocks);
  return blocks;
}

std::vector<LiveBlock> LiveBlocks::peak_set(Measure measure) const {
  const std::size_t m = index(measure);
  std::vector<LiveBlock> blocks = peaks_[m].departed;
  for (const Entry& entry : entries_) {
    if (entry.order != 0 && is_in_peak(entry, m)) blocks.push_back(entry.block);
  }
  sort_by_address(blocks);
  return blocks;
}

std::uint64_t LiveBlocks::memory_bytes() const noexcept {
  return by_address_.memory_bytes() + by_array_.memory_bytes() +
         entries_.capacity() * sizeof(Entry) + sharers_.capacity() * sizeof(Sharer) +
         (peaks_[0].departed.capacity() + peaks_[1].departed.capacity()) * sizeof(LiveBlock);
}

void LiveBlocks::forget_ids() noexcept {
  const auto forget = [](LiveBlock& block) {
    block.holder.traceback = {};
    block.holder.op = {};
    block.holder.layout = {};
    block.holder.label = {};
    block.owner = {};
  };
  for (Entry& entry : entries_) forget(entry.block);
  for (Sharer& sharer : sharers_) {
    sharer.holder.traceback = {};
    sharer.holder.op = {};
    sharer.holder.layout = {};
    sharer.holder.label = {};
  }
  for (PeakState& state : peaks_) {
    for (LiveBlock& block : state.departed) forget(block);
  }
}

void LiveBlocks::keep_for_peak(Entry& entry, std::size_t measure) {
  PeakState& state = peaks_[measure];
  state.departed.push_back(entry.block);  // first: what throws leaves the block as it was
  entry.kept_epoch[measure] = state.epoch;
  entry.kept_at[measure] = static_cast<Index>(state.departed.size() - 1);
}

void LiveBlocks::set_peak(std::size_t measure, std::uint64_t sequence,
                          std::uint64_t ticks) noexcept {
  PeakState& state = peaks_[measure];
  state.peak = {.bytes = sums_[measure], .sequence = sequence, .ticks = ticks, .cached = cached_};
  state.order = order_;
  ++state.epoch;
  state.departed.clear();
}

void LiveBlocks::unlink(Index sharer) noexcept {
  Sharer& gone = sharers_[sharer];
  Entry& entry = entries_[gone.block];
  (gone.previous == kNone ? entry.first_sharer : sharers_[gone.previous].next) = gone.next;
  (gone.next == kNone ? entry.last_sharer : sharers_[gone.next].previous) = gone.previous;
  gone.block = kNone;
  --bound_count_;
}

}  // namespace strandline::record
