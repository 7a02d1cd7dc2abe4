// SPDX-License-Identifier: Apache-2.0
// Events become columns; the state they leave is followed beside them.
#include "strandline/snapshot/builder.h"

#include <algorithm>

#include "snapshot/lifetimes.h"
#include "snapshot/state_follower.h"
#include "strandline/core/error.h"

namespace strandline::snapshot {

using record::Action;

namespace {

template <typename Key, typename IdType, typename Column, typename Value>
IdType number_of(std::map<Key, IdType>& known, const Key& key, Column& column, Value&& value) {
  const auto [entry, is_new] = known.try_emplace(key);
  if (is_new) {
    column.push_back(std::forward<Value>(value));
    entry->second = IdType{static_cast<std::uint32_t>(column.size())};
  }
  return entry->second;
}

}  // namespace

SnapshotBuilder::SnapshotBuilder() : state_(std::make_unique<StateFollower>()) {}
SnapshotBuilder::SnapshotBuilder(SnapshotBuilder&&) noexcept = default;
SnapshotBuilder& SnapshotBuilder::operator=(SnapshotBuilder&&) noexcept = default;
SnapshotBuilder::~SnapshotBuilder() = default;

void SnapshotBuilder::add_event(const EventInput& event) {
  if (event.action == Action::none) {
    throw InvalidArgument(
        error_message("add_event", "no action", "none", "an action of record::Action"));
  }
  const EventRow row = row_of(event);
  snapshot_.events.push_back(row);
  snapshot_.counters.events[static_cast<std::size_t>(row.action)] += 1;
  snapshot_.counters.bytes[static_cast<std::size_t>(row.action)] += row.size;
  state_->follow(row, snapshot_.events.count());
}

Snapshot SnapshotBuilder::finish() {
  const EventColumns& events = snapshot_.events;
  if (events.count() > 0) {
    snapshot_.start_us = *std::min_element(events.time_us.begin(), events.time_us.end());
    snapshot_.taken_us = *std::max_element(events.time_us.begin(), events.time_us.end());
  }
  state_->assemble(snapshot_);
  complete_lifetimes(snapshot_);
  return std::exchange(*this, SnapshotBuilder{}).snapshot_;
}

EventRow SnapshotBuilder::row_of(const EventInput& event) {
  EventRow row{
      .address = event.address,
      .size = event.size,
      .requested = event.requested,
      .time_us = event.time_us,
      .stack = stack_of(event.stack),
      .forward = stack_of(event.forward),
      .op = snapshot_.strings.intern(event.op),
      .label = snapshot_.strings.intern(event.label),
      .owner = snapshot_.strings.intern(event.owner),
      .layout = layout_of(event),
      .thread = event.thread,
      .device = event.device,
      .action = event.action,
  };
  if (event.stream != 0) {
    row.stream = number_of(streams_, event.stream, snapshot_.streams,
                           std::pair(event.stream, std::uint64_t{0}));
  }
  if (event.pool != std::pair<std::uint64_t, std::uint64_t>{0, 0}) {
    row.pool = number_of(pools_, event.pool, snapshot_.pools, event.pool);
  }
  return row;
}

StackId SnapshotBuilder::stack_of(std::span<const FrameView> outermost_first) {
  StackId stack;
  for (const FrameView& frame : outermost_first) {
    const StringId file = snapshot_.strings.intern(frame.file);
    const StringId function = snapshot_.strings.intern(frame.function);
    stack = snapshot_.stacks.child(stack, snapshot_.frames.intern(file, function, frame.line));
  }
  return stack;
}

LayoutId SnapshotBuilder::layout_of(const EventInput& event) {
  record::Layout layout{{event.shape.begin(), event.shape.end()}, event.dtype};
  if (layout == record::Layout{}) return {};
  const std::pair key(layout.shape, layout.dtype);
  return number_of(layouts_, key, snapshot_.layouts, std::move(layout));
}

}  // namespace strandline::snapshot
