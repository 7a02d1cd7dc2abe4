// SPDX-License-Identifier: Apache-2.0
// Streams and device events of a simulated device.
#include <exception>
#include <utility>

#include "device/checks.h"
#include "device/sim/sim_device.h"

namespace strandline::sim {

using device::AsyncErrorPtr;
using device::Call;
using device::DeviceEventId;
using device::EventStatus;
using device::FreeStatus;
using device::Operation;

SimStreams::SimStreams(Core& core, const device::Facts& facts, Gate& gate)
    : Streams(facts, gate), core_(core) {
  const LockGuard lock(core_.mutex);
  default_ = core_.add_stream(facts.index);
}

StreamId SimStreams::do_create(const device::StreamOptions&) {
  const LockGuard lock(core_.mutex);
  return core_.add_stream(facts_.index);
}

FreeStatus SimStreams::do_destroy(StreamId id) noexcept {
  const LockGuard lock(core_.mutex);
  const auto found = core_.streams.find(id);
  if (found == core_.streams.end() || found->second.device != facts_.index) {
    gate_.note_refused_free(Call::destroy_stream, "no such stream");
    return FreeStatus::unknown;
  }
  if (id == default_ || core_.book.is_capturing(id) || core_.is_runner()) {
    gate_.note_refused_free(Call::destroy_stream, "the default stream, or a stream in use");
    return FreeStatus::refused;
  }
  try {
    core_.drive_stream(found->second);
  } catch (const std::exception& error) {  // a chooser's
    gate_.note_refused_free(Call::destroy_stream, error.what());
    return FreeStatus::refused;
  }
  const AsyncErrorPtr& error = found->second.error;
  if (is_open(error)) gate_.note_lost_error(error->message.c_str());
  core_.streams.erase(found);
  return FreeStatus::freed;
}

DeviceEventId SimStreams::do_create_event() {
  const LockGuard lock(core_.mutex);
  const DeviceEventId id{++core_.last_event};
  core_.events.emplace(id, EventPoint{});
  return id;
}

FreeStatus SimStreams::do_destroy_event(DeviceEventId event) noexcept {
  const LockGuard lock(core_.mutex);
  if (core_.events.erase(event) == 0) {
    gate_.note_refused_free(Call::destroy_event, "no such event");
    return FreeStatus::unknown;
  }
  core_.book.forget(event);
  return FreeStatus::freed;
}

void SimStreams::do_record(DeviceEventId event, StreamId id) {
  constexpr const char* kFunction = "Streams::record";
  const LockGuard lock(core_.mutex);
  EventPoint& point = core_.event_at(kFunction, event);
  SimStream& stream = core_.own_stream(kFunction, id, facts_.index);
  if (core_.book.is_capturing(id)) {
    core_.book.record(event, id);
    return;
  }
  point.task = core_.add(stream, device::marker_operation(Call::record_event));
  core_.book.forget(event);
}

EventStatus SimStreams::do_query_event(DeviceEventId event) const {
  constexpr const char* kFunction = "Streams::query";
  const LockGuard lock(core_.mutex);
  const EventPoint& point = core_.event_at(kFunction, event);
  core_.book.check_host_may_ask(kFunction, event);
  return point.task == nullptr || point.task->done ? EventStatus::done : EventStatus::pending;
}

void SimStreams::do_stream_wait_event(StreamId id, DeviceEventId event) {
  constexpr const char* kFunction = "Streams::wait_event";
  const LockGuard lock(core_.mutex);
  const EventPoint& point = core_.event_at(kFunction, event);
  SimStream& stream = core_.own_stream(kFunction, id, facts_.index);
  if (core_.book.is_captured(event) || core_.book.is_capturing(id)) {
    if (id == default_) {
      device::throw_device(kFunction, "the default stream cannot be captured",
                           fmt::format("event {}", event.value), "another stream");
    }
    core_.book.wait_event(id, event, point.task != nullptr);
    return;
  }
  if (point.task == nullptr) return;
  const TaskPtr on = point.task;
  core_.add(stream, device::marker_operation(Call::stream_wait_event), {on})->waits_for = on;
}

void SimStreams::do_wait_event(DeviceEventId event) {
  constexpr const char* kFunction = "Streams::wait";
  AsyncErrorPtr error;
  {
    const LockGuard lock(core_.mutex);
    core_.check_may_wait(kFunction);
    const TaskPtr task = core_.event_at(kFunction, event).task;
    core_.book.check_host_may_ask(kFunction, event);
    if (task == nullptr) return;
    core_.drive(task);
    error = task->error;
  }
  report(error);
}

void SimStreams::do_submit(StreamId id) {
  constexpr const char* kFunction = "Streams::submit";
  const LockGuard lock(core_.mutex);
  SimStream& stream = core_.own_stream(kFunction, id, facts_.index);
  core_.submit(stream);
  if (core_.options.run_at == RunAt::submit && !core_.is_runner()) core_.drive_stream(stream);
}

void SimStreams::do_wait_stream(StreamId id) {
  constexpr const char* kFunction = "Streams::wait";
  AsyncErrorPtr error;
  {
    const LockGuard lock(core_.mutex);
    core_.check_may_wait(kFunction);
    SimStream& stream = core_.own_stream(kFunction, id, facts_.index);
    core_.book.check_host_may_ask(kFunction, id);
    core_.drive_stream(stream);
    error = stream.error;
  }
  report(error);
}

void SimStreams::do_wait_all() {
  constexpr const char* kFunction = "Streams::wait_all";
  AsyncErrorPtr error;
  {
    const LockGuard lock(core_.mutex);
    core_.check_may_wait(kFunction);
    core_.book.check_allowed(kFunction);
    core_.drive_device(facts_.index);
    for (const auto& [id, stream] : core_.streams) {
      if (stream.device == facts_.index && !is_open(error)) error = stream.error;
    }
  }
  report(error);
}

EventStatus SimStreams::do_query_stream(StreamId id) const {
  constexpr const char* kFunction = "Streams::query";
  const LockGuard lock(core_.mutex);
  const SimStream& stream = core_.own_stream(kFunction, id, facts_.index);
  core_.book.check_host_may_ask(kFunction, id);
  return stream.pending == 0 ? EventStatus::done : EventStatus::pending;
}

void SimStreams::push(const char* function, StreamId id, Operation operation) {
  const LockGuard lock(core_.mutex);
  SimStream& stream = core_.own_stream(function, id, facts_.index);
  operation.device = facts_.index;
  core_.space.bind(operation);
  if (core_.book.is_capturing(id)) {
    core_.book.add(id, std::move(operation));
  } else {
    core_.add(stream, std::move(operation));
  }
}

void SimStreams::do_copy(StreamId stream, const device::Slice& to, const device::Slice& from) {
  push("Streams::copy", stream, device::copy_operation(to, from));
}

void SimStreams::do_fill(StreamId stream, const device::Slice& to, std::byte value) {
  push("Streams::fill", stream, device::fill_operation(to, value));
}

void SimStreams::do_enqueue(StreamId stream, device::Work work) {
  push("Streams::enqueue", stream,
       Operation{.kind = Call::enqueue, .work = std::move(work), .keeps = {}, .device = {}});
}

void SimStreams::do_enqueue_host_task(StreamId stream, std::string name,
                                      std::function<void()> task) {
  push("Streams::enqueue_host_task", stream,
       device::host_task_operation(std::move(name), std::move(task)));
}

}  // namespace strandline::sim
