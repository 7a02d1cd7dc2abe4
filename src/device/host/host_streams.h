// SPDX-License-Identifier: Apache-2.0
// Streams of the host: a queue and a worker thread each, started with the first work. A device
// event is a point that workers and waiting threads watch; an error goes along with it.
//
// One lock covers all queues, the device's; work runs without it. `done` is notified when any
// point is reached: waits are rare next to work.
//
// A forked child has no workers: it starts its own, which go on with what was queued. What a worker
// was at when the process forked is lost to the child and fails there.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include "device/async_error.h"
#include "device/host/host_state.h"
#include "strandline/device/streams.h"

namespace strandline::device {

class HostStreams final : public Streams {
 public:
  explicit HostStreams(HostState& state);
  ~HostStreams() override;

  /// Queues an operation, or adds it to the stream's capture. `function` is named in errors.
  void push(const char* function, StreamId stream, Operation operation);
  /// Throws InvalidArgument for an unknown stream.
  void check_stream(const char* function, StreamId stream) const STRANDLINE_REQUIRES(state_.mutex);

 private:
  struct Point {
    bool done = false;
    AsyncErrorPtr error;
  };
  using PointPtr = std::shared_ptr<Point>;
  struct Entry {
    Operation operation;
    PointPtr reaches;    ///< of a record
    PointPtr waits_for;  ///< of a stream's wait
  };
  struct Stream {
    StreamId id;
    std::deque<Entry> queue;
    std::uint64_t enqueued = 0;
    std::uint64_t completed = 0;
    AsyncErrorPtr error;
    bool stop = false;
    bool is_running = false;  ///< the worker is at an operation that it has taken
    std::condition_variable_any wake;
    std::thread worker;
  };

  StreamId do_default_stream() const noexcept override { return default_; }
  StreamId do_create(const StreamOptions& options) override;
  FreeStatus do_destroy(StreamId stream) noexcept override;
  void* do_native(StreamId) const override { return nullptr; }
  DeviceEventId do_create_event() override;
  FreeStatus do_destroy_event(DeviceEventId event) noexcept override;
  void do_record(DeviceEventId event, StreamId stream) override;
  EventStatus do_query_event(DeviceEventId event) const override;
  void do_stream_wait_event(StreamId stream, DeviceEventId event) override;
  void do_wait_event(DeviceEventId event) override;
  void do_submit(StreamId stream) override;
  void do_wait_stream(StreamId stream) override;
  void do_wait_all() override;
  EventStatus do_query_stream(StreamId stream) const override;
  void do_copy(StreamId stream, const Slice& to, const Slice& from) override;
  void do_fill(StreamId stream, const Slice& to, std::byte value) override;
  void do_enqueue(StreamId stream, Work work) override;
  void do_enqueue_host_task(StreamId stream, std::string name, std::function<void()> task) override;

  std::shared_ptr<Stream> add_stream() STRANDLINE_REQUIRES(state_.mutex);
  Stream& stream_at(const char* function, StreamId stream) const STRANDLINE_REQUIRES(state_.mutex);
  PointPtr& point_at(const char* function, DeviceEventId event) STRANDLINE_REQUIRES(state_.mutex);
  void push_entry(Stream& stream, Entry entry) STRANDLINE_REQUIRES(state_.mutex);
  void run_worker(const std::shared_ptr<Stream>& stream);
  void run_entry(Stream& stream, Entry entry) STRANDLINE_REQUIRES(state_.mutex);
  void note_error(Stream& stream, AsyncErrorPtr error) STRANDLINE_REQUIRES(state_.mutex);
  void drain(Stream& stream) STRANDLINE_REQUIRES(state_.mutex);
  void check_may_wait(const char* function) const;
  void start_worker(Stream& stream) STRANDLINE_REQUIRES(state_.mutex);

  // In host_fork.cpp: only the thread that forks is in the child.
  friend class HostForks;
  void restart_in_child() STRANDLINE_REQUIRES(state_.mutex);
  static void stop(const std::shared_ptr<Stream>& stream);

  HostState& state_;
  StreamId default_;
  std::condition_variable_any done_;
  std::map<StreamId, std::shared_ptr<Stream>> streams_ STRANDLINE_GUARDED_BY(state_.mutex);
  std::map<DeviceEventId, PointPtr> events_ STRANDLINE_GUARDED_BY(state_.mutex);
};

}  // namespace strandline::device
