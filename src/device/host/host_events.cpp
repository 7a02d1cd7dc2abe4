// SPDX-License-Identifier: Apache-2.0
// Device events of host streams.
#include "device/checks.h"
#include "device/host/host_streams.h"

namespace strandline::device {

DeviceEventId HostStreams::do_create_event() {
  const LockGuard lock(state_.mutex);
  const DeviceEventId id{++state_.last_id};
  events_.emplace(id, nullptr);
  return id;
}

FreeStatus HostStreams::do_destroy_event(DeviceEventId event) noexcept {
  const LockGuard lock(state_.mutex);
  if (events_.erase(event) == 0) {
    state_.gate.note_refused_free(Call::destroy_event, "no such event");
    return FreeStatus::unknown;
  }
  state_.book.forget(event);
  return FreeStatus::freed;
}

HostStreams::PointPtr& HostStreams::point_at(const char* function, DeviceEventId event) {
  const auto found = events_.find(event);
  if (found == events_.end()) {
    throw_invalid(function, "event", std::to_string(event.value), "an event of this device");
  }
  return found->second;
}

void HostStreams::do_record(DeviceEventId event, StreamId id) {
  constexpr const char* kFunction = "Streams::record";
  const LockGuard lock(state_.mutex);
  PointPtr& point = point_at(kFunction, event);
  Stream& stream = stream_at(kFunction, id);
  if (state_.book.is_capturing(id)) {
    state_.book.record(event, id);
    return;
  }
  auto fresh = std::make_shared<Point>();
  push_entry(stream, Entry{marker_operation(Call::record_event), fresh, nullptr});
  point = std::move(fresh);
  state_.book.forget(event);
}

EventStatus HostStreams::do_query_event(DeviceEventId event) const {
  constexpr const char* kFunction = "Streams::query";
  const LockGuard lock(state_.mutex);
  const auto found = events_.find(event);
  if (found == events_.end()) {
    throw_invalid(kFunction, "event", std::to_string(event.value), "an event of this device");
  }
  state_.book.check_host_may_ask(kFunction, event);
  return found->second == nullptr || found->second->done ? EventStatus::done : EventStatus::pending;
}

void HostStreams::do_stream_wait_event(StreamId id, DeviceEventId event) {
  constexpr const char* kFunction = "Streams::wait_event";
  const LockGuard lock(state_.mutex);
  const PointPtr& point = point_at(kFunction, event);
  Stream& stream = stream_at(kFunction, id);
  if (state_.book.is_captured(event) || state_.book.is_capturing(id)) {
    if (id == default_) {
      throw_device(kFunction, "the default stream cannot be captured",
                   fmt::format("event {}", event.value), "another stream");
    }
    state_.book.wait_event(id, event, point != nullptr);
    return;
  }
  if (point == nullptr) return;
  push_entry(stream, Entry{marker_operation(Call::stream_wait_event), nullptr, point});
}

void HostStreams::do_wait_event(DeviceEventId event) {
  constexpr const char* kFunction = "Streams::wait";
  check_may_wait(kFunction);
  AsyncErrorPtr error;
  {
    const LockGuard lock(state_.mutex);
    const PointPtr point = point_at(kFunction, event);
    state_.book.check_host_may_ask(kFunction, event);
    if (point == nullptr) return;
    while (!point->done) done_.wait(state_.mutex);
    error = point->error;
  }
  report(error);
}

}  // namespace strandline::device
