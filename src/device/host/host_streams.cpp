// SPDX-License-Identifier: Apache-2.0
// Queues, workers and waits of host streams; device events are in host_events.cpp.
#include "device/host/host_streams.h"

#include <atomic>
#include <exception>
#include <system_error>

#include "device/checks.h"
#include "device/host/host_fork.h"

namespace strandline::device {

namespace {

// Streams of all host devices have different ids: records tell them apart by the id alone.
std::atomic<std::uint32_t> g_last_stream{0};

thread_local bool t_is_worker = false;

}  // namespace

HostStreams::HostStreams(HostState& state) : Streams(state.facts, state.gate), state_(state) {
  {
    const LockGuard lock(state_.mutex);
    default_ = add_stream()->id;
  }
  HostForks::add(*this);
}

HostStreams::~HostStreams() {
  HostForks::remove(*this);
  std::map<StreamId, std::shared_ptr<Stream>> ending;
  {
    const LockGuard lock(state_.mutex);
    for (auto& [id, stream] : streams_) drain(*stream);
    for (auto& [id, stream] : streams_) {
      stream->stop = true;
      stream->wake.notify_all();
      if (is_open(stream->error)) state_.gate.note_lost_error(stream->error->message.c_str());
    }
    ending.swap(streams_);
  }
  for (auto& [id, stream] : ending) stop(stream);
}

void HostStreams::stop(const std::shared_ptr<Stream>& stream) {
  if (stream->worker.joinable()) stream->worker.join();
}

std::shared_ptr<HostStreams::Stream> HostStreams::add_stream() {
  auto stream = std::make_shared<Stream>();
  stream->id = StreamId{g_last_stream.fetch_add(1, std::memory_order_relaxed) + 1};
  streams_.emplace(stream->id, stream);
  return stream;
}

StreamId HostStreams::do_create(const StreamOptions&) {
  const LockGuard lock(state_.mutex);
  return add_stream()->id;
}

FreeStatus HostStreams::do_destroy(StreamId id) noexcept {
  std::shared_ptr<Stream> stream;
  {
    const LockGuard lock(state_.mutex);
    const auto found = streams_.find(id);
    if (found == streams_.end()) {
      state_.gate.note_refused_free(Call::destroy_stream, "no such stream");
      return FreeStatus::unknown;
    }
    if (id == default_ || state_.book.is_capturing(id) || t_is_worker) {
      state_.gate.note_refused_free(Call::destroy_stream, "the default stream, or a stream in use");
      return FreeStatus::refused;
    }
    stream = found->second;
    drain(*stream);
    if (is_open(stream->error)) state_.gate.note_lost_error(stream->error->message.c_str());
    stream->stop = true;
    stream->wake.notify_all();
    streams_.erase(id);
  }
  stop(stream);
  return FreeStatus::freed;
}

HostStreams::Stream& HostStreams::stream_at(const char* function, StreamId stream) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    throw_invalid(function, "stream", std::to_string(stream.value), "a stream of this device");
  }
  return *found->second;
}

void HostStreams::check_stream(const char* function, StreamId stream) const {
  stream_at(function, stream);
}

void HostStreams::push(const char* function, StreamId id, Operation operation) {
  const LockGuard lock(state_.mutex);
  Stream& stream = stream_at(function, id);
  state_.bind(operation);
  if (state_.book.is_capturing(id)) {
    state_.book.add(id, std::move(operation));
  } else {
    push_entry(stream, Entry{std::move(operation), nullptr, nullptr});
  }
}

void HostStreams::push_entry(Stream& stream, Entry entry) {
  stream.queue.push_back(std::move(entry));
  if (!stream.worker.joinable()) {
    try {
      start_worker(stream);
    } catch (const std::system_error& error) {
      stream.queue.pop_back();
      throw_device("Streams", "no worker thread can be started", error.what(), "one a stream");
    }
  }
  ++stream.enqueued;
  stream.wake.notify_one();
}

void HostStreams::start_worker(Stream& stream) {
  stream.worker = std::thread([this, shared = streams_.at(stream.id)] { run_worker(shared); });
}

void HostStreams::run_worker(const std::shared_ptr<Stream>& stream) {
  t_is_worker = true;
  const LockGuard lock(state_.mutex);
  while (true) {
    while (stream->queue.empty() && !stream->stop) stream->wake.wait(state_.mutex);
    if (stream->queue.empty()) return;
    Entry entry = std::move(stream->queue.front());
    stream->queue.pop_front();
    stream->is_running = true;
    run_entry(*stream, std::move(entry));
    stream->is_running = false;
    ++stream->completed;
    done_.notify_all();
  }
}

void HostStreams::run_entry(Stream& stream, Entry entry) {
  if (entry.waits_for != nullptr) {
    while (!entry.waits_for->done) done_.wait(state_.mutex);
    if (is_open(entry.waits_for->error)) note_error(stream, entry.waits_for->error);
    return;
  }
  if (entry.reaches != nullptr) {
    entry.reaches->error = is_open(stream.error) ? stream.error : nullptr;
    entry.reaches->done = true;
    return;
  }
  AsyncErrorPtr error;
  state_.mutex.unlock();
  state_.gate.note(Call::run);
  try {
    if (entry.operation.work.body) entry.operation.work.body();
  } catch (...) {
    error = current_error(entry.operation.work.name, stream.id);
  }
  entry = Entry{};  // what it kept ends here, without the lock
  state_.mutex.lock();
  if (error != nullptr) note_error(stream, std::move(error));
}

void HostStreams::note_error(Stream& stream, AsyncErrorPtr error) {
  if (!is_open(stream.error)) {
    stream.error = std::move(error);
  } else if (stream.error != error) {
    state_.gate.note_lost_error(error->message.c_str());
  }
}

void HostStreams::drain(Stream& stream) {
  const std::uint64_t target = stream.enqueued;
  while (stream.completed < target) done_.wait(state_.mutex);
}

void HostStreams::check_may_wait(const char* function) const {
  if (t_is_worker) {
    throw_device(function, "queued work may not wait for the device", "a call from a worker",
                 "a call from a thread of the program");
  }
}

void HostStreams::do_submit(StreamId stream) {
  const LockGuard lock(state_.mutex);
  check_stream("Streams::submit", stream);
}

void HostStreams::do_wait_stream(StreamId id) {
  constexpr const char* kFunction = "Streams::wait";
  check_may_wait(kFunction);
  AsyncErrorPtr error;
  {
    const LockGuard lock(state_.mutex);
    stream_at(kFunction, id);
    const std::shared_ptr<Stream> stream = streams_.at(id);
    state_.book.check_host_may_ask(kFunction, id);
    drain(*stream);
    error = stream->error;
  }
  report(error);
}

void HostStreams::do_wait_all() {
  constexpr const char* kFunction = "Streams::wait_all";
  check_may_wait(kFunction);
  AsyncErrorPtr error;
  {
    const LockGuard lock(state_.mutex);
    state_.book.check_allowed(kFunction);
    const auto all = streams_;
    for (const auto& [id, stream] : all) {
      drain(*stream);
      if (!is_open(error)) error = stream->error;
    }
  }
  report(error);
}

EventStatus HostStreams::do_query_stream(StreamId id) const {
  const LockGuard lock(state_.mutex);
  const Stream& stream = stream_at("Streams::query", id);
  state_.book.check_host_may_ask("Streams::query", id);
  return stream.completed == stream.enqueued ? EventStatus::done : EventStatus::pending;
}

void HostStreams::do_copy(StreamId stream, const Slice& to, const Slice& from) {
  push("Streams::copy", stream, copy_operation(to, from));
}

void HostStreams::do_fill(StreamId stream, const Slice& to, std::byte value) {
  push("Streams::fill", stream, fill_operation(to, value));
}

void HostStreams::do_enqueue(StreamId stream, Work work) {
  push("Streams::enqueue", stream,
       Operation{.kind = Call::enqueue, .work = std::move(work), .keeps = {}, .device = {}});
}

void HostStreams::do_enqueue_host_task(StreamId stream, std::string name,
                                       std::function<void()> task) {
  push("Streams::enqueue_host_task", stream, host_task_operation(std::move(name), std::move(task)));
}

}  // namespace strandline::device
