// SPDX-License-Identifier: Apache-2.0
// Delivery to sinks: one thread copies what is new out of the ring under the recorder's lock, and
// writes it to the sinks outside of it. Writers never wait for a sink; what the ring overwrote
// before it was copied is counted. A sink that is being served must not start the recorder or clear
// its history: both wait for it.
//
// A change of the ring pauses delivery, so that sinks get every event of the old one:
//
//   SinkPump::Pause pause(*this);    delivers what there is
//   const Section section(*this);
//   pause.take_rest(*this);          what writers added meanwhile
//   …the ring is emptied or replaced; when the lock is free again the rest is handed on
//
// The pump's lock is taken before those of providers and before the recorder's own. Private to the
// room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "strandline/record/recorder.h"
#include "strandline/record/stream_sink.h"

namespace strandline::record {

struct Recorder::SinkPump {
  class Pause;

  static constexpr std::chrono::milliseconds kInterval{50};
  static constexpr std::size_t kBatchEvents = 32'768;  // 2 MB: what writers may have to wait for

  /// Starts the thread, which lives as long as the process, like the recorder.
  explicit SinkPump(Recorder& owner);

  /// What there is now, to all sinks; `mutex` is held: one delivery at a time.
  void deliver(const std::unique_lock<std::mutex>&) noexcept;
  /// Without sinks nothing is delivered, and bindings may complete events in place: a first sink
  /// starts at what comes next.
  void skip_to_now();
  /// The next events into the batch, at most so many of them; the number of the first.
  std::uint64_t take(Recorder& from, std::size_t most) STRANDLINE_REQUIRES(from.mutex_);
  /// A batch of any size, in pieces of the usual one.
  void serve_batch(std::uint64_t first) noexcept;

  static bool is_stream(const std::shared_ptr<Sink>& sink) {
    return dynamic_cast<const StreamSink*>(sink.get()) != nullptr;
  }

  Recorder& recorder;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::shared_ptr<Sink>> sinks;
  std::vector<Event> batch;
  std::uint32_t last_phase = 0;            // told to streams
  std::vector<std::uint32_t> open_phases;  // of these

 private:
  void run();
  bool deliver_batch(std::uint64_t end);
  template <typename Serve>
  void serve(Serve&& serve_one);
  void serve_streams();
  std::vector<Phase> changed_phases();
  std::uint64_t next_sequence();
};

class Recorder::SinkPump::Pause {
 public:
  explicit Pause(Recorder& owner) STRANDLINE_EXCLUDES(owner.mutex_);
  /// Hands on what was taken.
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  /// Throws std::bad_alloc; nothing is taken then.
  void take_rest(Recorder& owner) STRANDLINE_REQUIRES(owner.mutex_);

 private:
  SinkPump* pump_ = nullptr;
  std::unique_lock<std::mutex> lock_;
  std::optional<std::uint64_t> first_{};  // number of the first event taken
};

}  // namespace strandline::record
