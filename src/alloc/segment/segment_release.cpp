// SPDX-License-Identifier: Apache-2.0
// Giving segments back to the device: which go, and in what order. Only a segment of which no byte
// is active can go; what that means for lowered limits is D-40.
#include <algorithm>
#include <new>

#include "alloc/segment/segment_core.h"

namespace strandline::alloc {

using record::Action;

// Calls `choose` under the lock until it says that it has chosen all, and gives back what it chose.
template <typename Choose>
std::uint64_t SegmentCore::release_while(Choose&& choose) {
  std::uint64_t bytes = 0;
  for (bool more = true; more;) {
    Departures out;
    {
      const StateGuard guard(lock_);
      more = !choose(out);
    }
    const Departed departed = depart(out);
    bytes += departed.bytes;
    if (departed.refused > 0) break;  // kept: choosing it again at once would not end
  }
  return bytes;
}

// -- one segment ----------------------------------------------------------------------------------

void SegmentCore::retire(Segment& segment, Departures& out) noexcept {
  placed_ = nullptr;
  segment.index->fit.erase(*segment.first);
  segment.is_leaving = true;
  send_off(*segment.region, false, out);
}

// The device refused to take it.
void SegmentCore::do_keep(Block& block) noexcept {
  if (block.kind != BlockKind::region) return;
  unpark();
  Segment& segment = *static_cast<SegmentBlock&>(block).segment;
  block.use = BlockUse::allocated;
  segment.is_leaving = false;
  const std::uint64_t age_start = segment.first->age_start;
  insert(*segment.first, *segment.index);
  segment.first->age_start = age_start;
}

void SegmentCore::do_forget(Block& block) noexcept {
  if (block.kind != BlockKind::region) return;
  auto& region = static_cast<SegmentBlock&>(block);
  Segment& segment = *region.segment;
  HalfPool& half = *segment.index->half;
  trace(Action::segment_free, region.address, region.size, region.stream, pool_of(region));
  table_.remove(*segment.first);
  half.unlink(segment);
  --segment_count_;
  segment_bytes_ -= region.size;
  ++counted_.num_device_free;
  accounts_.subtract(half.kind, Count::segment, 1);
  accounts_.subtract(half.kind, Count::reserved_bytes, region.size);
  if (half.owner != nullptr) {
    --half.owner->segments;
    half.owner->reserved.subtract(half.kind, Count::reserved_bytes, region.size);
  }
  if (is_pytorch_ ? rules_.is_oversize(region.size) : segment.is_oversize) {
    oversize_segments_.subtract(1);
  }
  delete &segment;
}

// -- by order of the index, as PyTorch does -------------------------------------------------------

bool SegmentCore::retire_idle(HalfPool& half, Departures& out) noexcept {
  unpark();
  for (const auto& index : half.indexes) {
    for (SegmentBlock* block = index->fit.first(); block != nullptr;) {
      SegmentBlock* next = index->fit.after(*block);
      if (!block->is_part()) {
        if (out.full()) return false;
        retire(*block->segment, out);
      }
      block = next;
    }
  }
  return true;
}

bool SegmentCore::do_empty(Departures& out) noexcept {
  PoolHalves& ours = pools_.default_pool();
  if (!retire_idle(ours.large, out) || !retire_idle(ours.small, out)) return false;
  try {
    for (PrivatePool* pool : pools_.ended()) {
      if (!retire_idle(pool->halves.small, out) || !retire_idle(pool->halves.large, out)) {
        return false;
      }
    }
  } catch (const std::bad_alloc&) {  // for a list of them: another time
    return true;
  }
  if (out.empty()) pools_.drop_ended(is_pytorch_);
  return out.empty();  // once more: pools are dropped when their last segment is gone
}

std::uint64_t SegmentCore::release_cached() {
  return release_while([this](Departures& out)
                           STRANDLINE_NO_LOCK_ANALYSIS { return do_empty(out); });
}

std::uint64_t SegmentCore::release_pool_memory(PoolId id) {
  return release_while([this, id](Departures& out) STRANDLINE_NO_LOCK_ANALYSIS {
    PrivatePool* pool = pools_.find(id);
    if (pool == nullptr) return true;
    return retire_idle(pool->halves.small, out) && retire_idle(pool->halves.large, out);
  });
}

// The smallest oversize block that would do, else the largest ones until their sum does.
bool SegmentCore::release_oversize(const Attempt& attempt) {
  bool suffices = false;
  std::uint64_t released = 0;
  bool is_first_round = true;
  (void)release_while([&](Departures& out) STRANDLINE_NO_LOCK_ANALYSIS {
    const std::uint64_t max_split = rules_.settings().max_split_bytes;
    if (max_split == SegmentSettings::kUnlimited) return true;
    unpark();
    StreamIndex* index = half_for(attempt.request.pool, attempt.size).find(attempt.request.stream);
    if (index == nullptr) return true;
    const std::uint64_t wanted = std::max(attempt.size, max_split);
    if (std::exchange(is_first_round, false)) {
      SegmentBlock* block = index->fit.find(wanted);
      while (block != nullptr && block->is_part()) block = index->fit.after(*block);
      if (block != nullptr) {
        retire(*block->segment, out);
        suffices = true;
        return true;
      }
    }
    SegmentBlock* block = index->fit.last();
    while (block != nullptr && released < wanted && block->size >= max_split) {
      SegmentBlock* smaller = index->fit.ahead_of(*block);
      if (!block->is_part()) {
        if (out.full()) return false;
        released += block->size;
        retire(*block->segment, out);
      } else if (is_on(Fault::D40_parts_of_segments_are_freed)) {
        (void)device_.memory().deallocate(block->address);
      }
      block = smaller;
    }
    suffices = released >= wanted;
    return true;
  });
  return suffices;
}

// -- by age ---------------------------------------------------------------------------------------

// Passes over all idle segments: those not used for longer than the average go, until enough have.
void SegmentCore::collect_garbage() {
  std::uint64_t target = 0;
  {
    const StateGuard guard(lock_);
    if (!collects_garbage()) return;
    const std::uint64_t limit = hard_limit_ != UINT64_MAX ? hard_limit_ : facts_.total_bytes;
    const auto threshold = static_cast<std::uint64_t>(
        rules_.settings().garbage_collection_threshold * static_cast<double>(limit));
    if (segment_bytes_ <= threshold) return;
    target = segment_bytes_ - threshold;
  }
  for (std::uint64_t collected = 0; collected < target;) {
    const std::uint64_t bytes = collect_older_half();
    if (bytes == 0) return;
    collected += bytes;
  }
}

template <typename Visit>
void SegmentCore::for_each_collectable(Visit&& visit) {
  unpark();
  const auto half_done = [&](HalfPool& half) STRANDLINE_NO_LOCK_ANALYSIS {
    for (const auto& index : half.indexes) {
      for (SegmentBlock* block = index->fit.first(); block != nullptr;) {
        SegmentBlock* next = index->fit.after(*block);
        if (!block->is_part() && !keeps_for_graph(*block->segment)) visit(*block);
        block = next;
      }
    }
  };
  if (is_pytorch_) {
    half_done(pools_.default_pool().large);
  } else {
    pools_.for_each_half(half_done);
  }
}

std::uint64_t SegmentCore::collect_older_half() {
  double average = -1;
  return release_while([&](Departures& out) STRANDLINE_NO_LOCK_ANALYSIS {
    const auto age = [](const SegmentBlock& block) STRANDLINE_NO_LOCK_ANALYSIS {
      return block.segment->index->half->searches - block.age_start;
    };
    if (average < 0) {
      std::uint64_t ages = 0;
      std::uint64_t count = 0;
      for_each_collectable([&](const SegmentBlock& block) {
        ages += age(block);
        ++count;
      });
      if (count == 0) return true;
      average = static_cast<double>(ages) / static_cast<double>(count);
    }
    bool all = true;
    for_each_collectable([&](const SegmentBlock& block) STRANDLINE_NO_LOCK_ANALYSIS {
      if (static_cast<double>(age(block)) < average) return;
      if (out.full()) {
        all = false;
      } else {
        retire(*block.segment, out);
      }
    });
    return all;
  });
}

// -- by need --------------------------------------------------------------------------------------

std::uint64_t SegmentCore::missing_bytes(const Attempt& attempt) {
  const std::uint64_t free_bytes = device_free_bytes();
  const StateGuard guard(lock_);
  if (attempt.is_over_buffers) return 1;
  if (attempt.is_over_limit) {
    return segment_bytes_ + in_flight_bytes_ + attempt.device_bytes - hard_limit_;
  }
  // With enough free it has no hole of this size.
  return free_bytes < attempt.device_bytes ? attempt.device_bytes - free_bytes
                                           : attempt.device_bytes;
}

// Of the idle segments that suffice the smallest, else the largest there is. Those of other private
// pools that live come last.
Segment* SegmentCore::idle_for(std::uint64_t bytes, const Attempt& attempt) noexcept {
  unpark();
  if (is_on(Fault::D21_a_pool_that_is_entered_is_a_capture) && attends(kScopesOpen)) return nullptr;
  Segment* best = nullptr;
  bool best_is_foreign = true;
  const auto is_better = [&](const Segment& one, bool is_foreign) {
    if (best == nullptr || is_foreign != best_is_foreign) return best == nullptr || !is_foreign;
    const bool does = one.region->size >= bytes;
    const bool best_does = best->region->size >= bytes;
    if (does != best_does) return does;
    return does == (one.region->size < best->region->size);
  };
  pools_.for_each_half([&](HalfPool& half) STRANDLINE_NO_LOCK_ANALYSIS {
    const PrivatePool* owner = half.owner;
    const bool is_foreign =
        owner != nullptr && !owner->has_ended() && owner->id != attempt.request.pool;
    for (Segment* one = half.oldest; one != nullptr; one = one->next) {
      if (!one->is_idle() || keeps_for_graph(*one) || !is_better(*one, is_foreign)) continue;
      best = one;
      best_is_foreign = is_foreign;
    }
  });
  return best;
}

std::uint64_t SegmentCore::release_idle(std::uint64_t bytes, const Attempt& attempt) {
  std::uint64_t chosen = 0;
  return release_while([&](Departures& out) STRANDLINE_NO_LOCK_ANALYSIS {
    while (chosen < bytes) {
      if (out.full()) return false;
      Segment* segment = idle_for(bytes - chosen, attempt);
      if (segment == nullptr) break;
      chosen += segment->region->size;
      retire(*segment, out);
    }
    return true;
  });
}

// As other allocators: a guideline of memory keeps the cache small.
void SegmentCore::release_past_guideline(const Attempt& attempt) {
  std::uint64_t excess = 0;
  {
    const StateGuard guard(lock_);
    const std::uint64_t after = staying_bytes() + in_flight_bytes_ + attempt.device_bytes;
    if (after > limits_.gc_bytes) excess = after - limits_.gc_bytes;
  }
  if (excess > 0) (void)release_idle(excess, attempt);
}

// -- by recency, for the limits of the cache ------------------------------------------------------

Segment* SegmentCore::longest_idle() noexcept {
  unpark();
  Segment* longest = nullptr;
  pools_.for_each_half([&](HalfPool& half) STRANDLINE_NO_LOCK_ANALYSIS {
    for (Segment* one = half.oldest; one != nullptr; one = one->next) {
      if (!one->is_idle() || keeps_for_graph(*one)) continue;
      if (longest == nullptr || one->first->freed_at < longest->first->freed_at) longest = one;
    }
  });
  return longest;
}

bool SegmentCore::do_trim(Departures& out) noexcept {
  const auto is_too_much = [this]() STRANDLINE_NO_LOCK_ANALYSIS {
    return staying_bytes() - active_bytes() > limits_.cache_bytes ||
           (!is_pytorch_ && staying_bytes() > hard_limit_);
  };
  while (is_too_much()) {
    if (out.full()) return false;
    Segment* segment = longest_idle();
    if (segment == nullptr) return true;
    retire(*segment, out);
  }
  return true;
}

bool SegmentCore::do_evict(std::uint64_t bytes, Departures& out) noexcept {
  for (std::uint64_t evicted = 0; evicted < bytes;) {
    if (out.full()) return false;
    Segment* segment = longest_idle();
    if (segment == nullptr) return true;
    evicted += segment->region->size;
    retire(*segment, out);
  }
  return true;
}

}  // namespace strandline::alloc
