// SPDX-License-Identifier: Apache-2.0
// Streams and device events, and the work that is put on them. Work of a stream is done in the
// order of enqueueing (where Facts say orders_by_buffer: within one submission only as far as it
// shares a buffer object); streams run side by side; a device event orders one after another.
//
// Threads: any; calls on one stream from several threads are ordered by the caller.
// Errors: the calls throw InvalidArgument and DeviceError for themselves. When queued work fails,
// the first error of a stream since its last report is kept with the stream and with the device
// events recorded behind it, later work still runs, and the next wait that covers the failure
// throws it once, as a DeviceError that names the operation; an OutOfRange, which is about the data
// and not about the device, as that. Further failures are counted.
// Captures: on a capturing stream work becomes a node; a wait or a query there is refused and
// breaks the capture (capture.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/device/calls.h"
#include "strandline/device/facts.h"
#include "strandline/device/types.h"

namespace strandline::device {

struct StreamOptions {
  std::string name;
  int priority = 0;        ///< smaller runs first, where the backend knows priorities
  void* native = nullptr;  ///< adopts a stream of the native API, which the caller keeps alive
};

enum class AccessMode : std::uint8_t { read, write, read_write };

struct Access {
  Slice slice;
  AccessMode mode = AccessMode::read;
};

/// A piece of device work. `accesses` says everything that `body` reads and writes; `binds` are
/// buffers it keeps beyond those.
struct Work {
  std::string name;
  std::vector<Access> accesses;
  std::vector<BufferId> binds;
  std::function<void()> body;  ///< may be empty; may throw; runs again with every replay
};

enum class EventStatus : std::uint8_t { done, pending };

class STRANDLINE_API Streams {
 public:
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  virtual ~Streams() = default;

  /// The stream that is always there and cannot be destroyed or captured.
  [[nodiscard]] StreamId default_stream() const noexcept { return do_default_stream(); }
  [[nodiscard]] StreamId create(const StreamOptions& options = {});
  /// Waits for its work, whose error is counted as lost. Refused while it captures.
  FreeStatus destroy(StreamId stream) noexcept;
  /// What the native API calls the stream; null where there is none.
  [[nodiscard]] void* native(StreamId stream) const { return do_native(stream); }

  [[nodiscard]] DeviceEventId create_event();
  /// Never waits; a stream that already waits for the point still does.
  FreeStatus destroy_event(DeviceEventId event) noexcept;
  /// The event becomes the point behind all work of `stream` so far, whatever it was before.
  void record(DeviceEventId event, StreamId stream);
  /// An event never recorded is done. Drives nothing and reports no error.
  [[nodiscard]] EventStatus query(DeviceEventId event) const;
  /// Later work of `stream` runs after the point. The event may be of another device of the
  /// backend.
  void wait_event(StreamId stream, DeviceEventId event);
  /// Blocks until the point is reached, submitting what it takes.
  void wait(DeviceEventId event);

  /// Hands enqueued work to the device. Does not wait; nothing enqueued is no error.
  void submit(StreamId stream);
  /// Submits and blocks until all work of the stream is done.
  void wait(StreamId stream);
  /// The same for every stream of the device.
  void wait_all();
  [[nodiscard]] EventStatus query(StreamId stream) const;

  /// Copies from.size bytes, which is to.size. Overlapping bytes are undefined.
  void copy(StreamId stream, const Slice& to, const Slice& from);
  void fill(StreamId stream, const Slice& to, std::byte value);
  /// `body` runs on the host's side as device work: it must not wait for the device.
  void enqueue(StreamId stream, Work work);
  /// Runs `task` on some thread when all earlier work of the stream is done, and before later work.
  /// It may free memory, and must not wait for the device.
  void enqueue_host_task(StreamId stream, std::string name, std::function<void()> task);

 protected:
  Streams(const Facts& facts, CallGate& gate) : facts_(facts), gate_(gate) {}

  const Facts& facts_;
  CallGate& gate_;

 private:
  virtual StreamId do_default_stream() const noexcept = 0;
  virtual StreamId do_create(const StreamOptions& options) = 0;
  virtual FreeStatus do_destroy(StreamId stream) noexcept = 0;
  virtual void* do_native(StreamId stream) const = 0;
  virtual DeviceEventId do_create_event() = 0;
  virtual FreeStatus do_destroy_event(DeviceEventId event) noexcept = 0;
  virtual void do_record(DeviceEventId event, StreamId stream) = 0;
  virtual EventStatus do_query_event(DeviceEventId event) const = 0;
  virtual void do_stream_wait_event(StreamId stream, DeviceEventId event) = 0;
  virtual void do_wait_event(DeviceEventId event) = 0;
  virtual void do_submit(StreamId stream) = 0;
  virtual void do_wait_stream(StreamId stream) = 0;
  virtual void do_wait_all() = 0;
  virtual EventStatus do_query_stream(StreamId stream) const = 0;
  virtual void do_copy(StreamId stream, const Slice& to, const Slice& from) = 0;
  virtual void do_fill(StreamId stream, const Slice& to, std::byte value) = 0;
  virtual void do_enqueue(StreamId stream, Work work) = 0;
  virtual void do_enqueue_host_task(StreamId stream, std::string name,
                                    std::function<void()> task) = 0;
};

}  // namespace strandline::device
