// SPDX-License-Identifier: Apache-2.0
// The checks around streams, device events and work.
#include "strandline/device/streams.h"

#include <utility>

#include "device/checks.h"

namespace strandline::device {

StreamId Streams::create(const StreamOptions& options) {
  if (options.native != nullptr) {
    check_supported(facts_.supports.native_streams, "Streams::create", "native_streams", facts_);
  }
  gate_.pass(Call::create_stream);
  return do_create(options);
}

FreeStatus Streams::destroy(StreamId stream) noexcept {
  if (!stream) return FreeStatus::freed;
  if (!gate_.try_pass(Call::destroy_stream)) return FreeStatus::refused;
  return do_destroy(stream);
}

DeviceEventId Streams::create_event() {
  gate_.pass(Call::create_event);
  return do_create_event();
}

FreeStatus Streams::destroy_event(DeviceEventId event) noexcept {
  if (!event) return FreeStatus::freed;
  if (!gate_.try_pass(Call::destroy_event)) return FreeStatus::refused;
  return do_destroy_event(event);
}

void Streams::record(DeviceEventId event, StreamId stream) {
  gate_.pass(Call::record_event);
  do_record(event, stream);
}

EventStatus Streams::query(DeviceEventId event) const {
  gate_.pass(Call::query_event);
  return do_query_event(event);
}

void Streams::wait_event(StreamId stream, DeviceEventId event) {
  gate_.pass(Call::stream_wait_event);
  do_stream_wait_event(stream, event);
}

void Streams::wait(DeviceEventId event) {
  gate_.pass(Call::wait_event);
  do_wait_event(event);
}

void Streams::submit(StreamId stream) {
  gate_.pass(Call::submit);
  do_submit(stream);
}

void Streams::wait(StreamId stream) {
  gate_.pass(Call::wait_stream);
  do_wait_stream(stream);
}

void Streams::wait_all() {
  gate_.pass(Call::wait_device);
  do_wait_all();
}

EventStatus Streams::query(StreamId stream) const {
  gate_.pass(Call::query_stream);
  return do_query_stream(stream);
}

void Streams::copy(StreamId stream, const Slice& to, const Slice& from) {
  constexpr const char* kFunction = "Streams::copy";
  if (to.size != from.size) {
    throw_invalid(kFunction, "sizes differ", fmt::format("{} to {} bytes", from.size, to.size),
                  "equal sizes");
  }
  check_no_wrap(kFunction, to.address, to.size);
  check_no_wrap(kFunction, from.address, from.size);
  gate_.pass(Call::copy);
  do_copy(stream, to, from);
}

void Streams::fill(StreamId stream, const Slice& to, std::byte value) {
  check_no_wrap("Streams::fill", to.address, to.size);
  gate_.pass(Call::fill);
  do_fill(stream, to, value);
}

void Streams::enqueue(StreamId stream, Work work) {
  constexpr const char* kFunction = "Streams::enqueue";
  check_supported(facts_.supports.work, kFunction, "work", facts_);
  for (const Access& access : work.accesses) {
    check_no_wrap(kFunction, access.slice.address, access.slice.size);
  }
  gate_.pass(Call::enqueue);
  do_enqueue(stream, std::move(work));
}

void Streams::enqueue_host_task(StreamId stream, std::string name, std::function<void()> task) {
  if (!task) throw_invalid("Streams::enqueue_host_task", "task", "nothing", "a function");
  gate_.pass(Call::enqueue_host_task);
  do_enqueue_host_task(stream, std::move(name), std::move(task));
}

}  // namespace strandline::device
