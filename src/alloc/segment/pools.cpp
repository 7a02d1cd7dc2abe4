// SPDX-License-Identifier: Apache-2.0
// Finding and making indexes and pools.
#include "alloc/segment/pools.h"

#include <algorithm>

namespace strandline::alloc {

namespace {

auto place_of(std::vector<std::unique_ptr<StreamIndex>>& indexes, StreamId stream) {
  return std::lower_bound(
      indexes.begin(), indexes.end(), stream,
      [](const auto& index, StreamId wanted) { return index->stream < wanted; });
}

}  // namespace

StreamIndex* HalfPool::find_other(StreamId stream) noexcept {
  const auto place = place_of(indexes, stream);
  if (place == indexes.end() || (*place)->stream != stream) return nullptr;
  return found[stream.value % found.size()] = place->get();
}

StreamIndex& HalfPool::index_of(StreamId stream, Ties ties) {
  if (StreamIndex* known = find(stream)) return *known;
  auto index = std::make_unique<StreamIndex>(ties);
  index->stream = stream;
  index->half = this;
  return **indexes.insert(place_of(indexes, stream), std::move(index));
}

void HalfPool::link(Segment& segment) noexcept {
  segment.previous = newest;
  segment.next = nullptr;
  (newest == nullptr ? oldest : newest->next) = &segment;
  newest = &segment;
}

void HalfPool::unlink(Segment& segment) noexcept {
  (segment.previous == nullptr ? oldest : segment.previous->next) = segment.next;
  (segment.next == nullptr ? newest : segment.next->previous) = segment.previous;
}

PrivatePool* Pools::find(PoolId id) noexcept {
  if (!id) return nullptr;
  const auto found = private_.find(id);
  return found == private_.end() ? nullptr : found->second.get();
}

PrivatePool& Pools::add(PoolId id, const PrivatePoolOptions& options) {
  auto pool = std::make_unique<PrivatePool>(reserved_[id]);
  pool->id = id;
  pool->options = options;
  pool->uses = 1;
  pool->halves.small.owner = pool.get();
  pool->halves.large.owner = pool.get();
  if (follows_visit_order_ && options.use_on_oom) reserves_.insert(id.value);
  return *private_.emplace(id, std::move(pool)).first->second;
}

void Pools::end_use(PrivatePool& pool) {
  if (pool.uses == 1) {
    if (follows_visit_order_) ended_.insert(pool.id.value);
    pool.options.no_split = false;
  }
  --pool.uses;
}

void Pools::end_reserve(PrivatePool& pool) noexcept {
  pool.options.use_on_oom = false;
  reserves_.erase(pool.id.value);
}

template <typename Take>
std::vector<PrivatePool*> Pools::in_order(const VisitOrder& order, Take&& take) {
  std::vector<PrivatePool*> pools;
  if (!follows_visit_order_) {
    for (auto& [id, pool] : private_) {
      if (take(*pool)) pools.push_back(pool.get());
    }
    return pools;
  }
  for (const std::uint64_t number : order.ordinals()) {
    PrivatePool* pool = find(PoolId{static_cast<std::uint32_t>(number)});
    if (pool != nullptr && take(*pool)) pools.push_back(pool);
  }
  return pools;
}

std::vector<PrivatePool*> Pools::ended() {
  if (is_on(Fault::D24_ended_pools_keep_their_memory)) return {};
  return in_order(ended_, [](const PrivatePool& pool) { return pool.has_ended(); });
}

std::vector<PrivatePool*> Pools::reserves() {
  return in_order(reserves_, [](const PrivatePool& pool) {
    const bool has_ended = pool.has_ended() && !is_on(Fault::D23_ended_pools_serve_others);
    return pool.options.use_on_oom && !has_ended;
  });
}

void Pools::drop_ended(bool keeps_reserved) noexcept {
  for (auto place = private_.begin(); place != private_.end();) {
    const bool is_gone = place->second->has_ended() && place->second->segments == 0;
    if (is_gone && !keeps_reserved) reserved_.erase(place->first);
    if (is_gone) ended_.erase(place->first.value);
    if (is_gone) reserves_.erase(place->first.value);
    place = is_gone ? private_.erase(place) : std::next(place);
  }
}

}  // namespace strandline::alloc
