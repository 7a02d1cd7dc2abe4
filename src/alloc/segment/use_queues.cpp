// SPDX-License-Identifier: Apache-2.0
// Lists of uses, by block and by stream.
#include "alloc/segment/use_queues.h"

#include <algorithm>

namespace strandline::alloc {

StreamUse& UseQueues::make(StreamId stream) {
  UseQueue& queue = queues_[stream];
  queue.stream = stream;
  if (unused_ == nullptr) {
    StreamUse& fresh = nodes_.emplace_back();
    fresh.next_of_block = nullptr;
    unused_ = &fresh;
  }
  StreamUse& use = *unused_;
  unused_ = use.next_of_block;
  const device::DeviceEventId event = use.event;
  use = StreamUse{};
  use.stream = stream;
  use.event = event;
  use.queue = &queue;
  return use;
}

void UseQueues::recycle(StreamUse& use) noexcept {
  use.block = nullptr;
  use.sequence = 0;
  use.next_of_block = unused_;
  unused_ = &use;
}

StreamUse* UseQueues::find(const SegmentBlock& block, StreamId stream) noexcept {
  StreamUse* use = block.uses;
  while (use != nullptr && use->stream != stream) use = use->next_of_block;
  return use;
}

void UseQueues::attach(SegmentBlock& block, StreamUse& use) noexcept {
  StreamUse** link = &block.uses;
  while (*link != nullptr && (*link)->stream < use.stream) link = &(*link)->next_of_block;
  use.next_of_block = *link;
  use.block = &block;
  *link = &use;
}

void UseQueues::detach(StreamUse& use) noexcept {
  StreamUse** link = &use.block->uses;
  while (*link != &use) link = &(*link)->next_of_block;
  *link = use.next_of_block;
}

void UseQueues::enqueue(StreamUse& use) noexcept {
  UseQueue& queue = *use.queue;
  StreamUse* earlier = queue.last;
  while (earlier != nullptr && earlier->sequence > use.sequence) earlier = earlier->previous;
  use.previous = earlier;
  use.next = earlier == nullptr ? queue.first : earlier->next;
  (earlier == nullptr ? queue.first : earlier->next) = &use;
  (use.next == nullptr ? queue.last : use.next->previous) = &use;
  use.is_queued = true;
  ++queued_;
  if (!first_stream_) return;
  try {
    order_.insert(use.stream.value - first_stream_->value);
  } catch (...) {  // no memory: the stream is visited last
  }
}

std::vector<StreamUse*> UseQueues::visit_uses(const SegmentBlock& block) const {
  std::vector<StreamUse*> uses;
  for (StreamUse* use = block.uses; use != nullptr; use = use->next_of_block) uses.push_back(use);
  std::sort(uses.begin(), uses.end(),
            [](const StreamUse* a, const StreamUse* b) { return a->sequence < b->sequence; });
  if (!first_stream_) return uses;
  VisitOrder order(VisitOrder::stream_hash);
  const auto ordinal = [&](const StreamUse* use) {
    return use->stream.value - first_stream_->value;
  };
  for (const StreamUse* use : uses) order.insert(ordinal(use));
  const std::vector<std::uint64_t> ordinals = order.ordinals();
  const auto place = [&](const StreamUse* use) {
    return std::find(ordinals.begin(), ordinals.end(), ordinal(use));
  };
  std::sort(uses.begin(), uses.end(),
            [&](const StreamUse* a, const StreamUse* b) { return place(a) < place(b); });
  return uses;
}

std::vector<UseQueue*> UseQueues::busy_queues() {
  std::vector<UseQueue*> busy;
  const auto add = [&](UseQueue& queue) {
    const bool is_new = std::find(busy.begin(), busy.end(), &queue) == busy.end();
    if (queue.first != nullptr && is_new) busy.push_back(&queue);
  };
  if (first_stream_) {
    for (const std::uint64_t ordinal : order_.ordinals()) {
      const StreamId stream{static_cast<std::uint32_t>(first_stream_->value + ordinal)};
      add(queues_.at(stream));
    }
  }
  for (auto& [stream, queue] : queues_) add(queue);
  return busy;
}

void UseQueues::dequeue(StreamUse& use) noexcept {
  UseQueue& queue = *use.queue;
  (use.previous == nullptr ? queue.first : use.previous->next) = use.next;
  (use.next == nullptr ? queue.last : use.next->previous) = use.previous;
  use.is_queued = false;
  --queued_;
  if (first_stream_ && queue.first == nullptr) {
    order_.erase(use.stream.value - first_stream_->value);
  }
}

}  // namespace strandline::alloc
