// SPDX-License-Identifier: Apache-2.0
// The heart of a machine: queued work as tasks with dependencies, and the loop that runs them one
// at a time on the thread that waits.
//
//   enqueued --submit--> submitted --all dependencies done--> ready --chosen--> done
//
// One lock covers all of it; the body of a task runs without it, and no second task runs meanwhile.
//   invariant: ready_ holds exactly the tasks that are submitted, have waiting == 0 and did not run
//   invariant: a dependency is always older (smaller id) than what depends on it, but for the end
//              of a conditional, which gets further ones while it runs
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/async_error.h"
#include "device/capture_book.h"
#include "device/sim/gate.h"
#include "device/sim/space.h"
#include "strandline/core/mutex.h"
#include "strandline/device/sim/machine.h"

namespace strandline::sim {

struct Task;
using TaskPtr = std::shared_ptr<Task>;

struct Task {
  std::uint64_t id = 0;
  StreamId stream;
  device::Operation operation;
  std::vector<TaskPtr> dependencies;  ///< those not done when it was made; empty once done
  std::vector<std::weak_ptr<Task>> dependents;
  std::size_t waiting = 0;  ///< dependencies that are not done
  bool submitted = false;
  bool done = false;
  bool needed = false;          ///< by a wait that goes on
  TaskPtr waits_for;            ///< of a stream's wait for an event
  device::AsyncErrorPtr error;  ///< of an event's point
  std::uint64_t ready_ns = 0;   ///< not before
  std::uint64_t end_ns = 0;
  std::function<void(Task&)> expand;  ///< of a conditional: adds its body's tasks
};

struct SimStream {
  StreamId id;
  device::DeviceIndex device;
  TaskPtr barrier;             ///< later tasks come after it
  std::vector<TaskPtr> since;  ///< tasks since then, ordered by buffer only
  std::vector<TaskPtr> unsubmitted;
  std::size_t pending = 0;
  device::AsyncErrorPtr error;
};

struct EventPoint {
  TaskPtr task;  ///< null: never recorded outside of captures
};

class SimDevice;

struct Core {
  explicit Core(const MachineOptions& machine_options);
  ~Core();

  // --- streams and events; the lock is held ---
  StreamId add_stream(device::DeviceIndex index) STRANDLINE_REQUIRES(mutex);
  SimStream& stream_at(const char* function, StreamId stream) STRANDLINE_REQUIRES(mutex);
  /// As stream_at, of this device.
  SimStream& own_stream(const char* function, StreamId stream, device::DeviceIndex index)
      STRANDLINE_REQUIRES(mutex);
  EventPoint& event_at(const char* function, device::DeviceEventId event)
      STRANDLINE_REQUIRES(mutex);

  /// Puts an operation on a stream.
  TaskPtr add(SimStream& stream, device::Operation operation,
              const std::vector<TaskPtr>& also_after = {}) STRANDLINE_REQUIRES(mutex);
  /// Puts all nodes of a graph on a stream, as one piece of work.
  void add_graph(SimStream& stream, const std::shared_ptr<device::Graph>& graph)
      STRANDLINE_REQUIRES(mutex);
  void submit(SimStream& stream) STRANDLINE_REQUIRES(mutex);

  // --- running; the lock is let go while a body runs ---
  /// Runs until the task is done, submitting what it takes.
  void drive(const TaskPtr& target) STRANDLINE_REQUIRES(mutex);
  /// Runs until all tasks of the stream are done.
  void drive_stream(SimStream& stream) STRANDLINE_REQUIRES(mutex);
  void drive_device(device::DeviceIndex index) STRANDLINE_REQUIRES(mutex);
  bool run_one(StreamId stream) STRANDLINE_REQUIRES(mutex);
  void run_all() STRANDLINE_REQUIRES(mutex);
  /// Throws DeviceError on the thread that runs work now.
  void check_may_wait(const char* function) const STRANDLINE_REQUIRES(mutex);
  [[nodiscard]] bool is_runner() const STRANDLINE_REQUIRES(mutex) {
    return running_ && runner_ == std::this_thread::get_id();
  }

  Gate& gate_of(const SimStream& stream);

  const MachineOptions options;
  Clock clock;
  std::vector<std::unique_ptr<Gate>> gates;
  Space space;
  mutable Mutex mutex;
  std::condition_variable_any changed;
  device::CaptureBook book STRANDLINE_GUARDED_BY(mutex);
  std::map<StreamId, SimStream> streams STRANDLINE_GUARDED_BY(mutex);
  std::unordered_map<device::DeviceEventId, EventPoint> events STRANDLINE_GUARDED_BY(mutex);
  std::vector<Finding> findings STRANDLINE_GUARDED_BY(mutex);
  Chooser chooser STRANDLINE_GUARDED_BY(mutex);
  std::uint32_t last_stream STRANDLINE_GUARDED_BY(mutex) = 0;
  std::uint64_t last_event STRANDLINE_GUARDED_BY(mutex) = 0;
  std::vector<std::unique_ptr<SimDevice>> devices;

 private:
  using Nodes = std::map<device::NodeId, TaskPtr>;

  TaskPtr make_task(SimStream& stream, device::Operation operation,
                    const std::vector<TaskPtr>& dependencies) STRANDLINE_REQUIRES(mutex);
  [[nodiscard]] std::vector<TaskPtr> order_of(const SimStream& stream,
                                              const device::Operation& operation) const
      STRANDLINE_REQUIRES(mutex);
  [[nodiscard]] bool share_buffer(const device::Operation& a, const device::Operation& b) const;
  /// Tasks for the nodes, behind `begin`; returns those that `end` must wait for.
  std::vector<TaskPtr> add_nodes(SimStream& stream, const std::shared_ptr<device::Graph>& graph,
                                 const TaskPtr& begin) STRANDLINE_REQUIRES(mutex);
  TaskPtr add_node(SimStream& stream, const std::shared_ptr<device::Graph>& graph,
                   const device::GraphNode& node, const std::vector<TaskPtr>& before)
      STRANDLINE_REQUIRES(mutex);
  void expand_conditional(const std::shared_ptr<device::Graph>& graph,
                          const device::GraphNode& node, Task& task, const std::weak_ptr<Task>& end)
      STRANDLINE_REQUIRES(mutex);
  static void depend(const TaskPtr& task, const TaskPtr& on);
  void find_unordered(const TaskPtr& task) STRANDLINE_REQUIRES(mutex);
  [[nodiscard]] static bool reaches(const Task& later, const Task& earlier);
  void submit_closure(const TaskPtr& target) STRANDLINE_REQUIRES(mutex);
  void mark_submitted(const TaskPtr& task) STRANDLINE_REQUIRES(mutex);
  [[nodiscard]] TaskPtr choose() STRANDLINE_REQUIRES(mutex);
  [[nodiscard]] TaskPtr ask_chooser() STRANDLINE_REQUIRES(mutex);
  void run(const TaskPtr& task) STRANDLINE_REQUIRES(mutex);
  void run_body(const TaskPtr& task, device::AsyncErrorPtr& error) STRANDLINE_REQUIRES(mutex);
  void finish(const TaskPtr& task, device::AsyncErrorPtr error) STRANDLINE_REQUIRES(mutex);
  void note_error(SimStream& stream, device::AsyncErrorPtr error) STRANDLINE_REQUIRES(mutex);

  std::uint64_t last_task_ STRANDLINE_GUARDED_BY(mutex) = 0;
  std::map<std::uint64_t, TaskPtr> pending_ STRANDLINE_GUARDED_BY(mutex);  // not done, by id
  std::map<std::uint64_t, TaskPtr> ready_ STRANDLINE_GUARDED_BY(mutex);    // by id
  std::mt19937_64 random_ STRANDLINE_GUARDED_BY(mutex);
  bool running_ STRANDLINE_GUARDED_BY(mutex) = false;
  std::thread::id runner_ STRANDLINE_GUARDED_BY(mutex);
};

}  // namespace strandline::sim
