// SPDX-License-Identifier: Apache-2.0
// The state before the first event of a trace: segments by undoing the events from the file's end,
// blocks by what is freed, or lives to the end, without an alloc.
#include "snapshot/file_links.h"
#include "snapshot/segment_actions.h"
#include "strandline/snapshot/state_replay.h"

namespace strandline::snapshot {

using record::Action;
using record::BlockUse;

StateReplay::StateReplay(const SnapshotFile& file, std::uint8_t device)
    : file_(file), device_(device), rules_(file.settings) {
  if (device < file.traces.size()) trace_ = file.traces[device];
  find_segments_before();
  find_blocks_before();
  facts_ = {};
}

/// Backwards from the segments at the end.
void StateReplay::find_segments_before() {
  const SegmentColumns& segments = file_.snapshot.segments;
  for (std::size_t s = 0; s < segments.count(); ++s) {
    if (segments.device[s] != device_) continue;
    add_segment(segments.address[s], {.size = segments.size[s],
                                      .place = {.stream = segments.stream[s],
                                                .pool = segments.pool[s],
                                                .is_small = segments.is_small[s] != 0},
                                      .stack = segments.stack[s],
                                      .is_expandable = segments.is_expandable[s] != 0});
  }
  at_end_ = segments_;
  const EventColumns& events = file_.snapshot.events;
  for (std::uint64_t i = trace_.end(); i-- > trace_.first;) {
    const auto row = static_cast<std::size_t>(i);
    if (obtains_segment(events.action[row])) remove_span(events.address[row], events.size[row]);
    if (returns_segment(events.action[row])) add_span(row);
  }
}

/// Blocks that are freed, or live to the end, without an alloc in the trace.
void StateReplay::find_blocks_before() {
  const EventColumns& events = file_.snapshot.events;
  const BlockColumns& blocks = file_.snapshot.blocks;
  FlatMap<std::uint64_t> open;  // address -> row of its alloc, plus one
  FlatMap<std::uint8_t> asked;  // addresses whose free was requested, without an alloc
  std::map<std::uint64_t, ReplayBlock> freed;  // without an alloc
  bool tells_requests = false;
  for (std::uint64_t i = trace_.first; i < trace_.end(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    const Action action = events.action[row];
    const std::uint64_t key = place_key(device_, events.address[row]);
    if (record::begins_block(action)) {
      open[key] = i + 1;
    } else if (action == Action::free_requested) {
      tells_requests = true;
      if (open.find(key) == nullptr) asked[key] = 1;
    } else if (record::ends_block(action) && !open.erase(key)) {
      const bool pending = tells_requests && asked.find(key) == nullptr;
      freed.try_emplace(events.address[row],
                        ReplayBlock{.requested = events.requested[row],
                                    .use = pending ? BlockUse::pending_free : BlockUse::allocated});
    }
  }
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    if (blocks.device[b] != device_ || blocks.use[b] == BlockUse::inactive) continue;
    const std::uint64_t key = place_key(device_, blocks.address[b]);
    const auto number = static_cast<std::uint32_t>(b + 1);
    if (const std::uint64_t* alloc = open.find(key); alloc != nullptr) {
      kept_[*alloc] = number;
      continue;
    }
    const BlockUse use = asked.find(key) == nullptr ? blocks.use[b] : BlockUse::allocated;
    freed.erase(blocks.address[b]);
    add_block(blocks.address[b],
              {.requested = blocks.requested[b], .file_block = number, .use = use}, blocks.size[b]);
  }
  for (const auto& [address, block] : freed) add_block(address, block, 0);
}

}  // namespace strandline::snapshot
