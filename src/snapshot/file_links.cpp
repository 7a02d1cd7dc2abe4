// SPDX-License-Identifier: Apache-2.0
// One walk over the events, with the open alloc of each address.
#include "snapshot/file_links.h"

#include <algorithm>

#include "snapshot/lifetimes.h"

namespace strandline::snapshot {
namespace {

/// An event's number at each address that is open after the last event.
FlatMap<std::uint64_t> open_allocs(const EventColumns& events) {
  FlatMap<std::uint64_t> open;
  for (std::size_t i = 0; i < events.count(); ++i) {
    const std::uint64_t key = place_key(events.device[i], events.address[i]);
    if (record::begins_block(events.action[i])) open[key] = i + 1;
    if (record::ends_block(events.action[i])) open.erase(key);
  }
  return open;
}

}  // namespace

void link_blocks(SnapshotFile& file) {
  Snapshot& snapshot = file.snapshot;
  const EventColumns& events = snapshot.events;
  BlockColumns& blocks = snapshot.blocks;
  complete_lifetimes(snapshot);
  const FlatMap<std::uint64_t> open = open_allocs(events);
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    if (blocks.use[b] == record::BlockUse::inactive) continue;
    const std::uint64_t* number = open.find(place_key(blocks.device[b], blocks.address[b]));
    if (number == nullptr) continue;
    const EventRow event = events.row(static_cast<std::size_t>(*number - 1));
    blocks.alloc_sequence[b] = *number;
    blocks.alloc_time_us[b] = event.time_us;
    if (!blocks.stack[b]) blocks.stack[b] = event.stack;
    blocks.forward[b] = event.forward;
    blocks.op[b] = event.op;
    blocks.label[b] = event.label;
    blocks.owner[b] = event.owner;
    blocks.layout[b] = event.layout;
    blocks.action[b] = event.action;
  }
  if (events.count() == 0) return;
  const auto [first, last] = std::minmax_element(events.time_us.begin(), events.time_us.end());
  snapshot.start_us = *first;
  snapshot.taken_us = *last;
}

}  // namespace strandline::snapshot
