// SPDX-License-Identifier: Apache-2.0
// Ids of the recorder's tables to numbers of the snapshot's.
#include "snapshot/resolver.h"

#include <unordered_set>

#include "strandline/record/capture.h"
#include "strandline/record/frame_batch.h"

namespace strandline::snapshot {

ResolvedStack Resolver::stack(TracebackId id) {
  if (!id) return {};
  if (id.value < stacks_.size() && stacks_[id.value]) return *stacks_[id.value];
  const TracebackId calling = tables_.tracebacks.calling(id);
  const TracebackId forward = tables_.tracebacks.forward(id);
  const ResolvedStack resolved{
      .calling = calling == id ? resolve_stack(id) : stack(calling).calling,
      .forward = forward && forward != id ? stack(forward).calling : StackId{},
  };
  if (id.value >= stacks_.size()) stacks_.resize(std::size_t{id.value} * 2 + 64);
  stacks_[id.value] = resolved;
  return resolved;
}

void Resolver::prepare(std::span<const record::Event> events) {
  std::vector<record::RawFrame> unknown;
  std::unordered_set<std::uint32_t> seen;
  const auto add = [&](TracebackId id) {
    if (!id || (id.value < stacks_.size() && stacks_[id.value])) return;
    if (!seen.insert(id.value).second) return;
    for (const record::RawFrame& raw : tables_.tracebacks.frames(id)) {
      if (frames_.try_emplace(raw).second) unknown.push_back(raw);
    }
  };
  TracebackId last;
  for (const record::Event& event : events) {
    if (event.traceback == last) continue;
    last = event.traceback;
    add(last);
    if (last && !(last.value < stacks_.size() && stacks_[last.value])) {
      add(tables_.tracebacks.forward(last));
    }
  }
  if (unknown.empty()) return;
  std::vector<record::Frame> told;
  try {
    told = record::resolve_frames(unknown);
  } catch (...) {
    for (const record::RawFrame& raw : unknown) frames_.erase(raw);
    throw;
  }
  for (std::size_t i = 0; i < unknown.size(); ++i) frames_[unknown[i]] = enter(told[i]);
}

FrameId Resolver::enter(const record::Frame& frame) {
  const StringId file = snapshot_.strings.intern(frame.file);
  const StringId function = snapshot_.strings.intern(frame.function);
  return snapshot_.frames.intern(file, function, frame.line);
}

StackId Resolver::resolve_stack(TracebackId id) {
  const std::vector<record::RawFrame> innermost_first = tables_.tracebacks.frames(id);
  StackId stack;
  for (auto raw = innermost_first.rbegin(); raw != innermost_first.rend(); ++raw) {
    stack = snapshot_.stacks.child(stack, frame(*raw));
  }
  return stack;
}

FrameId Resolver::frame(const record::RawFrame& raw) {
  const auto [entry, is_new] = frames_.try_emplace(raw);
  if (is_new) entry->second = enter(record::resolve_frame(raw));
  return entry->second;
}

LayoutId Resolver::layout(LayoutId id) {
  if (!id) return {};
  std::uint32_t& number = slot(layouts_, id.value);
  if (number == 0) {
    // An id from before its table was emptied reads as an empty layout: none.
    record::Layout read = tables_.layouts.layout(id);
    if (read == record::Layout{}) {
      number = 1;
    } else {
      snapshot_.layouts.push_back(std::move(read));
      number = static_cast<std::uint32_t>(snapshot_.layouts.size()) + 1;
    }
  }
  return LayoutId{number - 1};
}

EventRow Resolver::event(const record::Event& event, std::int64_t time_us) {
  const ResolvedStack stack = this->stack(event.traceback);
  return {
      .address = event.address,
      .size = event.size,
      .requested = event.requested,
      .time_us = time_us,
      .stack = stack.calling,
      .forward = stack.forward,
      .op = op(event.op),
      .label = label(event.label),
      .owner = owner(event.owner),
      .layout = layout(event.layout),
      .stream = stream(event.stream),
      .pool = pool(event.pool),
      .thread = event.thread,
      .device = event.device,
      .action = event.action,
  };
}

BlockRow Resolver::block(const record::LiveBlock& live, const ClockConversion& clock) {
  const ResolvedStack stack = this->stack(live.holder.traceback);
  const bool before = live.action == record::Action::none;
  return {
      .address = live.address,
      .size = live.size,
      .requested = live.requested,
      .view_bytes = live.holder.view_bytes,
      .view_offset = live.holder.view_offset,
      .alloc_sequence = live.alloc_sequence,
      .alloc_time_us = live.alloc_ticks == 0 ? 0 : clock.unix_us(live.alloc_ticks),
      .stack = stack.calling,
      .forward = stack.forward,
      .op = before ? snapshot_.strings.intern(kBeforeRecording) : op(live.holder.op),
      .label = label(live.holder.label),
      .owner = owner(live.owner),
      .layout = layout(live.holder.layout),
      .stream = stream(live.stream),
      .pool = pool(live.pool),
      .thread = live.thread,
      .device = live.device,
      .action = live.action,
      .use = record::BlockUse::allocated,
      .hidden = live.hidden,
  };
}

}  // namespace strandline::snapshot
