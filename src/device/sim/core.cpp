// SPDX-License-Identifier: Apache-2.0
// Streams, and how operations become tasks in the order that the options ask for.
#include "device/sim/core.h"

#include <algorithm>
#include <utility>

#include "device/checks.h"
#include "device/sim/sim_device.h"

namespace strandline::sim {

using device::Call;
using device::DeviceIndex;
using device::Operation;

Core::Core(const MachineOptions& machine_options)
    : options(machine_options), space(options, facts_of(options)), random_(options.seed) {
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    gates.push_back(std::make_unique<Gate>(clock, options.costs));
  }
}

Core::~Core() {
  const LockGuard lock(mutex);
  chooser = nullptr;
  run_all();
  for (auto& [id, stream] : streams) {
    if (is_open(stream.error)) gate_of(stream).note_lost_error(stream.error->message.c_str());
  }
  events.clear();
  streams.clear();
}

Gate& Core::gate_of(const SimStream& stream) {
  return *gates[stream.device.value];
}

StreamId Core::add_stream(DeviceIndex index) {
  const StreamId id{++last_stream};
  SimStream& stream = streams[id];
  stream.id = id;
  stream.device = index;
  return id;
}

SimStream& Core::stream_at(const char* function, StreamId stream) {
  const auto found = streams.find(stream);
  if (found == streams.end()) {
    device::throw_invalid(function, "stream", std::to_string(stream.value), "a living stream");
  }
  return found->second;
}

SimStream& Core::own_stream(const char* function, StreamId id, DeviceIndex index) {
  SimStream& stream = stream_at(function, id);
  if (stream.device != index) {
    device::throw_invalid(function, "stream",
                          fmt::format("{} of device {}", id.value, stream.device.value),
                          fmt::format("a stream of device {}", index.value));
  }
  return stream;
}

EventPoint& Core::event_at(const char* function, device::DeviceEventId event) {
  const auto found = events.find(event);
  if (found == events.end()) {
    device::throw_invalid(function, "event", std::to_string(event.value), "a living event");
  }
  return found->second;
}

TaskPtr Core::add(SimStream& stream, Operation operation, const std::vector<TaskPtr>& also_after) {
  std::vector<TaskPtr> before = order_of(stream, operation);
  before.insert(before.end(), also_after.begin(), also_after.end());
  const bool barrier = options.order == StreamOrder::by_stream || operation.is_barrier();
  TaskPtr task = make_task(stream, std::move(operation), before);
  if (barrier) {
    stream.barrier = task;
    stream.since.clear();
  } else {
    stream.since.push_back(task);
  }
  return task;
}

std::vector<TaskPtr> Core::order_of(const SimStream& stream, const Operation& operation) const {
  std::vector<TaskPtr> before;
  if (stream.barrier != nullptr) before.push_back(stream.barrier);
  for (const TaskPtr& task : stream.since) {
    if (operation.is_barrier() || share_buffer(task->operation, operation)) before.push_back(task);
  }
  return before;
}

/// One of them writes a buffer object that the other uses.
bool Core::share_buffer(const Operation& a, const Operation& b) const {
  for (const device::Access& first : a.work.accesses) {
    const device::BufferId buffer = space.ordering_buffer(first.slice);
    for (const device::Access& second : b.work.accesses) {
      const bool writes =
          first.mode != device::AccessMode::read || second.mode != device::AccessMode::read;
      if (writes && buffer == space.ordering_buffer(second.slice)) return true;
    }
  }
  return false;
}

TaskPtr Core::make_task(SimStream& stream, Operation operation,
                        const std::vector<TaskPtr>& dependencies) {
  auto task = std::make_shared<Task>();
  task->id = ++last_task_;
  task->stream = stream.id;
  task->operation = std::move(operation);
  task->operation.device = stream.device;
  task->ready_ns = clock.now_ns();
  for (const TaskPtr& before : dependencies) depend(task, before);
  find_unordered(task);
  pending_.emplace(task->id, task);
  stream.unsubmitted.push_back(task);
  ++stream.pending;
  return task;
}

void Core::depend(const TaskPtr& task, const TaskPtr& on) {
  if (on->done) {
    task->ready_ns = std::max(task->ready_ns, on->end_ns);
    return;
  }
  task->dependencies.push_back(on);
  on->dependents.push_back(task);
  ++task->waiting;
}

void Core::find_unordered(const TaskPtr& task) {
  for (const device::Access& access : task->operation.work.accesses) {
    const device::Slice& slice = access.slice;
    for (const auto& [id, other] : pending_) {
      for (const device::Access& against : other->operation.work.accesses) {
        const bool writes =
            access.mode != device::AccessMode::read || against.mode != device::AccessMode::read;
        const device::Address begin = std::max(slice.address, against.slice.address);
        const device::Address end =
            std::min(slice.address + slice.size, against.slice.address + against.slice.size);
        if (!writes || begin >= end || reaches(*task, *other)) continue;
        findings.push_back({FindingKind::unordered, task->operation.work.name,
                            other->operation.work.name, task->stream, begin, end - begin});
      }
    }
  }
}

bool Core::reaches(const Task& later, const Task& earlier) {
  std::vector<const Task*> open = {&later};
  std::unordered_set<const Task*> seen;
  while (!open.empty()) {
    const Task* task = open.back();
    open.pop_back();
    if (task == &earlier) return true;
    if (task->id < earlier.id || !seen.insert(task).second) continue;
    for (const TaskPtr& before : task->dependencies) open.push_back(before.get());
  }
  return false;
}

void Core::submit(SimStream& stream) {
  if (!stream.since.empty()) add(stream, device::marker_operation(Call::submit));
  for (const TaskPtr& task : std::exchange(stream.unsubmitted, {})) mark_submitted(task);
}

void Core::mark_submitted(const TaskPtr& task) {
  if (task->submitted) return;
  task->submitted = true;
  if (task->waiting == 0 && !task->done) ready_.emplace(task->id, task);
}

}  // namespace strandline::sim
