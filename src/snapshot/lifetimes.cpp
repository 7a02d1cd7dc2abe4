// SPDX-License-Identifier: Apache-2.0
// One walk backwards over the events, with what is known of each open life by address.
#include "snapshot/lifetimes.h"

#include <algorithm>

namespace strandline::snapshot {
namespace {

using record::Action;

struct Life {
  StringId annotated;  // the latest label of an annotate event
  std::uint64_t requested = 0;
  std::uint32_t frees[2] = {0, 0};  // events that ended it, plus one
};

class Walk {
 public:
  explicit Walk(Snapshot& snapshot) : snapshot_(snapshot), events_(snapshot.events) {
    const BlockColumns& blocks = snapshot.blocks;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
      if (blocks.use[i] == record::BlockUse::inactive) continue;
      life(blocks.device[i], blocks.address[i]).requested = blocks.requested[i];
    }
  }

  void run() {
    for (std::size_t i = events_.count(); i-- > 0;) step(i);
    std::reverse(snapshot_.holder_requested.begin(), snapshot_.holder_requested.end());
  }

 private:
  Life& life(std::uint8_t device, std::uint64_t address) {
    const std::uint64_t key = address ^ (static_cast<std::uint64_t>(device) << 56);
    return lives_[key == 0 ? UINT64_MAX : key];
  }

  void step(std::size_t i) {
    const Action action = events_.action[i];
    if (!record::begins_block(action) && !record::ends_block(action) &&
        action != Action::free_requested && action != Action::annotate &&
        action != Action::holder) {
      return;
    }
    Life& current = life(events_.device[i], events_.address[i]);
    if (record::ends_block(action)) {
      current = {.annotated = {},
                 .requested = events_.requested[i],
                 .frees = {static_cast<std::uint32_t>(i + 1), 0}};
    } else if (action == Action::free_requested) {
      current.requested = events_.requested[i];
      current.frees[1] = static_cast<std::uint32_t>(i + 1);
    } else if (action == Action::holder) {
      snapshot_.holder_requested.push_back(current.requested);
    } else if (action == Action::annotate) {
      annotate(current, i);
    } else {
      if (current.annotated) events_.label.set(i, current.annotated);
      current = {};
    }
  }

  void annotate(Life& current, std::size_t i) {
    if (current.annotated || !events_.label[i]) return;
    current.annotated = events_.label[i];
    for (const std::uint32_t number : current.frees) {
      if (number != 0) events_.label.set(number - 1, current.annotated);
    }
  }

  Snapshot& snapshot_;
  EventColumns& events_;
  FlatMap<Life> lives_;
};

}  // namespace

BlockRow block_of(const EventRow& event, std::uint64_t sequence) {
  return {.address = event.address,
          .size = event.size,
          .requested = event.requested,
          .alloc_sequence = sequence,
          .alloc_time_us = event.time_us,
          .stack = event.stack,
          .forward = event.forward,
          .op = event.op,
          .label = event.label,
          .owner = event.owner,
          .layout = event.layout,
          .stream = event.stream,
          .pool = event.pool,
          .thread = event.thread,
          .device = event.device,
          .action = event.action,
          .use = record::BlockUse::allocated};
}

void complete_lifetimes(Snapshot& snapshot) {
  const bool needed = std::any_of(
      snapshot.events.action.begin(), snapshot.events.action.end(),
      [](Action action) { return action == Action::annotate || action == Action::holder; });
  if (needed) Walk(snapshot).run();
}

}  // namespace strandline::snapshot
