// SPDX-License-Identifier: Apache-2.0
// What handles of devices and streams point to, and the points on streams that arrays wait for.
//
//   queued_tasks = tasks handed to the device − tasks that have run or been dropped
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "strandline/array/device.h"
#include "strandline/array/graph_lock.h"
#include "strandline/core/mutex.h"

namespace strandline::array {

/// A point on a stream, reached when all that was queued before it has run. The arrays of an
/// evaluation share the one at its end, which is recorded then, or before when somebody asks.
struct Completion {
  explicit Completion(std::shared_ptr<StreamState> on);
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// The point is behind what has been queued on the stream so far.
  void record() STRANDLINE_REQUIRES(graph_lock());
  void ensure_recorded() STRANDLINE_REQUIRES(graph_lock()) {
    if (!is_recorded_) record();
  }
  /// Of a point that was recorded.
  bool is_done() const;
  /// Throws what made work before the point fail, once. Lets go of the graph meanwhile.
  void wait() STRANDLINE_REQUIRES(graph_lock());

  std::shared_ptr<StreamState> stream;
  device::DeviceEventId event;

 private:
  bool is_recorded_ STRANDLINE_GUARDED_BY(graph_lock()) = false;
};

struct StreamState;
struct DeviceLease;

/// Queued work and memory own it as such, for their allocator; who may still wait for the work owns
/// it through the lease: handles, streams, and so what is not evaluated or not waited for. When the
/// last of those is gone, what is queued runs out, so that a device that only runs while one waits
/// does not hold its machine through its own queue.
struct DeviceState : std::enable_shared_from_this<DeviceState> {
  DeviceState(std::shared_ptr<device::Device> port_device,
              std::shared_ptr<alloc::Allocator> given_allocator);
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  alloc::Allocator& allocator() const;
  /// An owner through the lease.
  std::shared_ptr<DeviceState> leased() STRANDLINE_EXCLUDES(mutex);
  std::shared_ptr<StreamState> default_stream() STRANDLINE_EXCLUDES(mutex);

  /// Called after each op by the evaluating thread: waits for the oldest work while too much is
  /// queued, or while active memory exceeds the allocator's limit and work is queued. Like all that
  /// waits here, it lets go of the graph meanwhile.
  void press_back(StreamState& stream, std::uint32_t max_tasks) STRANDLINE_EXCLUDES(mutex);

  /// While there is too little memory and work is queued, which holds some, waits for that first.
  alloc::Buffer allocate(alloc::Allocator& from, std::uint64_t bytes, StreamId stream)
      STRANDLINE_EXCLUDES(mutex);

  std::shared_ptr<device::Device> port;
  std::shared_ptr<alloc::Allocator> own_allocator;  ///< null: the process's default
  std::string name;
  std::atomic<std::uint64_t> queued_tasks{0};
  Mutex mutex;
  std::weak_ptr<DeviceLease> lease STRANDLINE_GUARDED_BY(mutex);
  std::weak_ptr<StreamState> made_default STRANDLINE_GUARDED_BY(mutex);
  /// Points behind every few tasks, oldest first; those that are reached leave.
  std::deque<device::DeviceEventId> points STRANDLINE_GUARDED_BY(mutex);

 private:
  void mark(StreamState& stream) STRANDLINE_EXCLUDES(mutex);
  bool wait_for_oldest() STRANDLINE_EXCLUDES(mutex);
};

struct StreamState {
  std::shared_ptr<DeviceState> device;
  std::shared_ptr<DeviceState> leased_device;
  StreamId id{};
  bool is_default = false;
  std::atomic<bool> is_closed{false};
  std::atomic<std::uint32_t> tasks_since_point{0};

  StreamState(DeviceState& on, StreamId stream, bool default_stream)
      : device(on.shared_from_this()),
        leased_device(on.leased()),
        id(stream),
        is_default(default_stream) {}
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();

  device::Streams& port() const { return device->port->streams(); }
  /// InvalidArgument, naming `function`, when it was closed.
  void check_open(const char* function) const;
};

}  // namespace strandline::array
