// SPDX-License-Identifier: Apache-2.0
// One walk over the events, backwards, until every live block has met the last event of its
// address.
#include "snapshot/file_links.h"

#include <algorithm>

#include "snapshot/lifetimes.h"

namespace strandline::snapshot {
namespace {

/// Live blocks that still wait for an event, by address.
class Waiting {
 public:
  explicit Waiting(const BlockColumns& blocks) : next_(blocks.count() + 1) {
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      if (blocks.use[b] == record::BlockUse::inactive) continue;
      std::uint32_t& head = heads_[place_key(blocks.device[b], blocks.address[b])];
      const auto number = static_cast<std::uint32_t>(b + 1);
      next_[number] = std::exchange(head, number);
    }
  }

  bool empty() const noexcept { return heads_.empty(); }

  /// Calls `visit` with each block at that address; they wait no more.
  template <typename Visit>
  void take(std::uint64_t place, Visit&& visit) {
    const std::uint32_t* const head = heads_.find(place);
    if (head == nullptr) return;
    for (std::uint32_t number = *head; number != 0; number = next_[number]) visit(number - 1);
    heads_.erase(place);
  }

 private:
  FlatMap<std::uint32_t> heads_;     // a block's number
  std::vector<std::uint32_t> next_;  // another block at its address, 0 for none
};

void link(BlockColumns& blocks, std::size_t b, const EventRow& event, std::uint64_t number) {
  blocks.alloc_sequence[b] = number;
  blocks.alloc_time_us[b] = event.time_us;
  if (!blocks.stack[b]) blocks.stack[b] = event.stack;
  blocks.forward[b] = event.forward;
  blocks.op[b] = event.op;
  blocks.label[b] = event.label;
  blocks.owner[b] = event.owner;
  blocks.layout[b] = event.layout;
  blocks.action[b] = event.action;
}

}  // namespace

void link_blocks(SnapshotFile& file) {
  Snapshot& snapshot = file.snapshot;
  const EventColumns& events = snapshot.events;
  complete_lifetimes(snapshot);
  Waiting waiting(snapshot.blocks);
  for (std::size_t i = events.count(); i-- > 0 && !waiting.empty();) {
    const record::Action action = events.action[i];
    if (!record::begins_block(action) && !record::ends_block(action)) continue;
    waiting.take(place_key(events.device[i], events.address[i]), [&](std::size_t b) {
      if (record::begins_block(action)) link(snapshot.blocks, b, events.row(i), i + 1);
    });
  }
  if (events.count() == 0) return;
  const auto [first, last] = std::minmax_element(events.time_us.begin(), events.time_us.end());
  snapshot.start_us = *first;
  snapshot.taken_us = *last;
}

}  // namespace strandline::snapshot
