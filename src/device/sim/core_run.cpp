// SPDX-License-Identifier: Apache-2.0
// The loop that runs tasks.
#include <algorithm>
#include <iterator>
#include <utility>

#include "device/checks.h"
#include "device/sim/core.h"

namespace strandline::sim {

using device::AsyncErrorPtr;
using device::Call;

void Core::check_may_wait(const char* function) const {
  if (is_runner()) {
    device::throw_device(function, "queued work may not wait for the device",
                         "a call from queued work", "a call from a thread of the program");
  }
}

void Core::submit_closure(const TaskPtr& target) {
  std::vector<TaskPtr> open = {target};
  while (!open.empty()) {
    const TaskPtr task = std::move(open.back());
    open.pop_back();
    if (task->done || task->needed) continue;
    task->needed = true;
    mark_submitted(task);
    open.insert(open.end(), task->dependencies.begin(), task->dependencies.end());
  }
}

void Core::drive(const TaskPtr& target) {
  submit_closure(target);
  while (!target->done) {
    if (running_) {
      changed.wait(mutex);
      continue;
    }
    const TaskPtr next = choose();
    if (next == nullptr) throw InternalError("[sim] work that is waited for cannot run");
    run(next);
  }
  clock.reach(target->end_ns);
}

void Core::drive_stream(SimStream& stream) {
  submit(stream);
  if (const TaskPtr last = stream.barrier; last != nullptr) drive(last);
}

void Core::drive_device(device::DeviceIndex index) {
  std::vector<TaskPtr> targets;
  for (auto& [id, stream] : streams) {
    if (stream.device != index) continue;
    submit(stream);
    if (stream.barrier != nullptr) targets.push_back(stream.barrier);
  }
  // All are needed from the start, so that the interleaving chooses among them.
  for (const TaskPtr& target : targets) submit_closure(target);
  for (const TaskPtr& target : targets) drive(target);
}

bool Core::run_one(StreamId id) {
  while (running_) changed.wait(mutex);
  const auto next = std::find_if(ready_.begin(), ready_.end(),
                                 [id](const auto& entry) { return entry.second->stream == id; });
  if (next == ready_.end()) return false;
  run(TaskPtr(next->second));
  return true;
}

void Core::run_all() {
  while (true) {
    for (auto& [id, stream] : streams) submit(stream);
    if (pending_.empty()) return;
    for (const auto& [id, task] : pending_) submit_closure(task);
    drive(TaskPtr(pending_.rbegin()->second));
  }
}

TaskPtr Core::choose() {
  if (chooser && !ready_.empty()) return ask_chooser();
  if (options.interleaving == Interleaving::seeded && !ready_.empty()) {
    const auto skip = static_cast<std::ptrdiff_t>(random_() % ready_.size());
    return std::next(ready_.begin(), skip)->second;
  }
  const auto is_needed = [](const auto& entry) { return entry.second->needed; };
  if (options.interleaving == Interleaving::newest_first) {
    const auto newest = std::find_if(ready_.rbegin(), ready_.rend(), is_needed);
    return newest == ready_.rend() ? nullptr : newest->second;
  }
  const auto oldest = std::find_if(ready_.begin(), ready_.end(), is_needed);
  return oldest == ready_.end() ? nullptr : oldest->second;
}

TaskPtr Core::ask_chooser() {
  std::vector<Candidate> candidates;
  std::vector<TaskPtr> tasks;
  for (const auto& [id, task] : ready_) {
    candidates.push_back({task->stream, task->operation.work.name});
    tasks.push_back(task);
  }
  const Chooser ask = chooser;
  mutex.unlock();
  std::size_t index = 0;
  try {
    index = ask(candidates);
  } catch (...) {
    mutex.lock();
    throw;
  }
  mutex.lock();
  if (index >= tasks.size()) {
    device::throw_invalid("Machine::set_chooser", "index", std::to_string(index),
                          fmt::format("one below {}", tasks.size()));
  }
  // Another thread may have run it meanwhile; then whatever is left will do.
  return ready_.contains(tasks[index]->id) ? tasks[index] : ready_.begin()->second;
}

void Core::run(const TaskPtr& task) {
  ready_.erase(task->id);
  running_ = true;
  runner_ = std::this_thread::get_id();
  AsyncErrorPtr error;
  run_body(task, error);
  running_ = false;
  finish(task, std::move(error));
  changed.notify_all();
}

void Core::run_body(const TaskPtr& task, AsyncErrorPtr& error) {
  device::Operation& operation = task->operation;
  Gate& gate = gate_of(streams.at(task->stream));
  bool runs = space.check(operation, task->stream, findings);
  if (!runs) {
    error = std::make_shared<device::AsyncError>(error_message(
        "wait", fmt::format("{} on stream {} failed", operation.work.name, task->stream.value),
        "an address that cannot be reached", "memory that is the device's to use"));
  }
  if (task->expand && runs) task->expand(*task);
  std::function<void()> body = std::exchange(operation.work.body, nullptr);
  if (!body) return;
  const bool is_work = operation.is_work();
  if (is_work) gate.note(Call::run);
  mutex.unlock();
  try {
    if (is_work) gate.strike(Call::run);
    if (runs) body();
  } catch (...) {
    error = device::current_error(operation.work.name, task->stream);
  }
  body = nullptr;  // what it kept may give memory back to the device
  mutex.lock();
}

void Core::finish(const TaskPtr& task, AsyncErrorPtr error) {
  SimStream& stream = streams.at(task->stream);
  const device::Operation& operation = task->operation;
  std::uint64_t bytes = 0;
  for (const device::Access& access : operation.work.accesses) bytes += access.slice.size;
  const std::uint64_t fixed = options.costs.call_ns[static_cast<std::size_t>(Call::run)];
  const std::uint64_t rate = std::max<std::uint64_t>(options.costs.bytes_per_ns, 1);
  task->end_ns = task->ready_ns + (operation.is_work() ? fixed + bytes / rate : 0);
  if (error != nullptr) note_error(stream, std::move(error));
  if (task->waits_for != nullptr && is_open(task->waits_for->error)) {
    note_error(stream, task->waits_for->error);
  }
  if (operation.kind == Call::record_event && is_open(stream.error)) task->error = stream.error;
  task->done = true;
  task->dependencies.clear();
  task->operation.keeps.clear();
  task->expand = nullptr;
  task->waits_for = nullptr;
  for (const std::weak_ptr<Task>& weak : std::exchange(task->dependents, {})) {
    const TaskPtr dependent = weak.lock();
    if (dependent == nullptr) continue;
    dependent->ready_ns = std::max(dependent->ready_ns, task->end_ns);
    if (--dependent->waiting == 0 && dependent->submitted) {
      ready_.emplace(dependent->id, dependent);
    }
  }
  std::erase(stream.since, task);
  --stream.pending;
  pending_.erase(task->id);
}

void Core::note_error(SimStream& stream, AsyncErrorPtr error) {
  if (!is_open(stream.error)) {
    stream.error = std::move(error);
  } else if (stream.error != error) {
    gate_of(stream).note_lost_error(error->message.c_str());
  }
}

}  // namespace strandline::sim
