// SPDX-License-Identifier: Apache-2.0
// Live blocks, sharers and peak sets. A new peak costs a comparison and a few stores: the set
// itself is only written down when one of its blocks is about to change or go.
#include "strandline/record/live_blocks.h"

#include <algorithm>

namespace strandline::record {
namespace {

void sort_by_address(std::vector<LiveBlock>& blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
}

}  // namespace

void LiveBlocks::add(const LiveBlock& block) {
  Index at = 0;
  if (free_entries_.empty()) {
    at = static_cast<Index>(entries_.size());
    entries_.emplace_back();
    // So that `remove`, which must not fail, never allocates here.
    free_entries_.reserve(entries_.capacity());
  } else {
    at = free_entries_.back();
    free_entries_.pop_back();
  }
  entries_[at] = Entry{.block = block, .order = ++order_};
  const std::size_t before = by_address_.size();
  Index* listed = &by_address_[block.address];
  if (by_address_.size() == before) {
    LiveBlock dropped;
    remove(block.address, dropped);
    ++double_allocs_;
    listed = &by_address_[block.address];
  }
  *listed = at;
  sums_[index(Measure::capacity)] += block.size;
  sums_[index(Measure::requested)] += block.requested;
}

void LiveBlocks::update_peaks(std::uint64_t sequence, std::uint64_t ticks) noexcept {
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    PeakState& state = peaks_[m];
    if (sums_[m] <= state.peak.bytes) continue;
    state.peak = {.bytes = sums_[m], .sequence = sequence, .ticks = ticks, .cached = cached_};
    state.order = order_;
    ++state.epoch;
    state.departed.clear();
  }
}

void LiveBlocks::reset_peaks(std::uint64_t sequence, std::uint64_t ticks) {
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    peaks_[m].peak = {.bytes = sums_[m], .sequence = sequence, .ticks = ticks, .cached = cached_};
    peaks_[m].order = order_;
    ++peaks_[m].epoch;
    peaks_[m].departed.clear();
  }
}

bool LiveBlocks::remove(std::uint64_t address, LiveBlock& removed) {
  const Index* found = by_address_.find(address);
  if (found == nullptr) return false;
  const Index at = *found;
  Entry& entry = entries_[at];
  keep_for_peaks(entry);
  while (entry.first_sharer != kNone) {
    const Index sharer = entry.first_sharer;
    by_array_.erase(sharers_[sharer].array.value);
    unlink(sharer);
    free_sharers_.push_back(sharer);
  }
  removed = entry.block;
  sums_[index(Measure::capacity)] -= removed.size;
  sums_[index(Measure::requested)] -= removed.requested;
  by_address_.erase_found(found);
  free_entries_.push_back(at);
  return true;
}

const LiveBlock* LiveBlocks::find(std::uint64_t address) const noexcept {
  const Index* found = by_address_.find(address);
  return found == nullptr ? nullptr : &entries_[*found].block;
}

// There is one after it; also room to give back all, so that `leave` and `remove` cannot fail.
void LiveBlocks::free_one_sharer() {
  if (!free_sharers_.empty()) return;
  sharers_.emplace_back();
  free_sharers_.reserve(sharers_.capacity());
  free_sharers_.push_back(static_cast<Index>(sharers_.size() - 1));
}

LiveBlocks::Binding LiveBlocks::try_bind(std::uint64_t address, ArrayKey array,
                                         const Holder& holder) {
  const Index* found = by_address_.find(address);
  if (found == nullptr) {
    const bool is_bound = by_array_.find(array.value) != nullptr;
    return {.bound = is_bound ? Bound::elsewhere : Bound::unknown_block};
  }
  Entry& entry = entries_[*found];
  free_one_sharer();
  const std::size_t before = by_array_.size();
  Index& sharer = by_array_[array.value];
  if (by_array_.size() == before) {
    const bool is_here = sharers_[sharer].block == *found;
    return {is_here ? Bound::already_bound : Bound::elsewhere, &entry.block};
  }
  sharer = free_sharers_.back();
  free_sharers_.pop_back();
  sharers_[sharer] = {.array = array, .holder = holder};
  link(sharer, *found);
  if (entry.first_sharer != sharer) return {Bound::further_sharer, &entry.block};
  if (!entry.was_bound) {
    entry.was_bound = true;
    return {Bound::first_sharer, &entry.block};
  }
  keep_for_peaks(entry);
  entry.block.holder = holder;
  return {Bound::next_holder, &entry.block};
}

LiveBlocks::Bound LiveBlocks::bind(std::uint64_t address, ArrayKey array, const Holder& holder) {
  Bound bound = try_bind(address, array, holder).bound;
  if (bound != Bound::elsewhere) return bound;
  leave(array);
  return try_bind(address, array, holder).bound;
}

const LiveBlock* LiveBlocks::leave(ArrayKey array) {
  const Index* found = by_array_.find(array.value);
  if (found == nullptr) return nullptr;
  const Index at = *found;
  Entry& entry = entries_[sharers_[at].block];
  const bool was_holder = entry.first_sharer == at;
  unlink(at);
  by_array_.erase_found(found);
  free_sharers_.push_back(at);
  if (!was_holder || entry.first_sharer == kNone) return nullptr;
  keep_for_peaks(entry);
  entry.block.holder = sharers_[entry.first_sharer].holder;
  return &entry.block;
}

template <typename Amend>
void LiveBlocks::amend(Entry& entry, Amend&& amend_block) noexcept {
  amend_block(entry.block);
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    if (entry.kept_epoch[m] == peaks_[m].epoch) amend_block(peaks_[m].departed[entry.kept_at[m]]);
  }
}

void LiveBlocks::amend_holder(std::uint64_t address, const Holder& holder) noexcept {
  if (const Index* found = by_address_.find(address)) amend_holder(entries_[*found].block, holder);
}

void LiveBlocks::amend_holder(const LiveBlock& block, const Holder& holder) noexcept {
  amend(entry_of(block), [&](LiveBlock& amended) { amended.holder = holder; });
}

const LiveBlock* LiveBlocks::set_label(std::uint64_t address, LabelId label) noexcept {
  const Index* found = by_address_.find(address);
  if (found == nullptr) return nullptr;
  Entry& entry = entries_[*found];
  amend(entry, [&](LiveBlock& block) { block.holder.label = label; });
  if (entry.first_sharer != kNone) sharers_[entry.first_sharer].holder.label = label;
  return &entry.block;
}

const LiveBlock* LiveBlocks::block_of(ArrayKey array) const noexcept {
  const Index* found = by_array_.find(array.value);
  return found == nullptr ? nullptr : &entries_[sharers_[*found].block].block;
}

void LiveBlocks::set_sharer_label(ArrayKey array, LabelId label) noexcept {
  if (const Index* found = by_array_.find(array.value)) sharers_[*found].holder.label = label;
}

std::vector<LiveBlock> LiveBlocks::blocks() const {
  std::vector<LiveBlock> blocks;
  blocks.reserve(by_address_.size());
  by_address_.for_each([&](std::uint64_t, Index at) { blocks.push_back(entries_[at].block); });
  sort_by_address(blocks);
  return blocks;
}

std::vector<LiveBlock> LiveBlocks::peak_set(Measure measure) const {
  const std::size_t m = index(measure);
  std::vector<LiveBlock> blocks = peaks_[m].departed;
  by_address_.for_each([&](std::uint64_t, Index at) {
    if (is_in_peak(entries_[at], m)) blocks.push_back(entries_[at].block);
  });
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

bool LiveBlocks::is_in_peak(const Entry& entry, std::size_t measure) const noexcept {
  return entry.order <= peaks_[measure].order && entry.kept_epoch[measure] != peaks_[measure].epoch;
}

void LiveBlocks::keep_for_peaks(Entry& entry) {
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    if (!is_in_peak(entry, m)) continue;
    PeakState& state = peaks_[m];
    state.departed.push_back(entry.block);  // first: what throws leaves the block as it was
    entry.kept_epoch[m] = state.epoch;
    entry.kept_at[m] = static_cast<Index>(state.departed.size() - 1);
  }
}

void LiveBlocks::link(Index sharer, Index block) noexcept {
  Entry& entry = entries_[block];
  sharers_[sharer].block = block;
  sharers_[sharer].previous = entry.last_sharer;
  sharers_[sharer].next = kNone;
  (entry.last_sharer == kNone ? entry.first_sharer : sharers_[entry.last_sharer].next) = sharer;
  entry.last_sharer = sharer;
}

void LiveBlocks::unlink(Index sharer) noexcept {
  const Sharer& gone = sharers_[sharer];
  Entry& entry = entries_[gone.block];
  (gone.previous == kNone ? entry.first_sharer : sharers_[gone.previous].next) = gone.next;
  (gone.next == kNone ? entry.last_sharer : sharers_[gone.next].previous) = gone.previous;
}

}  // namespace strandline::record
