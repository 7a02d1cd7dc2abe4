// SPDX-License-Identifier: Apache-2.0
// Delivery to sinks: one thread copies what is new out of the ring under the recorder's lock, and
// writes it to the sinks outside of it. Writers never wait for a sink; what the ring overwrote
// before it was copied is counted.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include <pthread.h>
#include <signal.h>

#include "fault.h"
#include "strandline/core/error.h"
#include "strandline/record/recorder.h"
#include "strandline/record/stream_sink.h"

namespace strandline::record {

struct Recorder::SinkPump {
  static constexpr std::chrono::milliseconds kInterval{50};
  static constexpr std::size_t kBatchEvents = 32'768;  // 2 MB: what writers may have to wait for

  explicit SinkPump(Recorder& owner) : recorder(owner) {
    batch.reserve(kBatchEvents);
    // Signals are the program's: its handlers do not run here, and one that a sink's own write
    // raises (SIGXFSZ, SIGPIPE) does not end it.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    std::thread([this] { run(); }).detach();  // lives as long as the process, like the recorder
    if (masked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      wake.wait_for(lock, kInterval);
      deliver(lock);
    }
  }

  // What there is now, to all sinks; `mutex` is held: one delivery at a time.
  void deliver(const std::unique_lock<std::mutex>&) noexcept {
    guarded("delivery to sinks", [&] {
      const std::uint64_t end = next_sequence();
      while (!sinks.empty() && deliver_batch(end)) {
      }
      serve_streams();
    });
  }

  // Copies under the recorder's lock, writes without it. Whether events before `end` are left.
  bool deliver_batch(std::uint64_t end) {
    std::uint64_t first = 0;
    bool more = false;
    batch.clear();
    {
      const LockGuard guard(recorder.mutex_);
      if (recorder.ring_ == nullptr) return false;
      first = std::max(recorder.delivered_, recorder.ring_->first_sequence());
      recorder.counters_.sink_events_missed += first - recorder.delivered_;
      recorder.ring_->copy_since(first, batch, kBatchEvents);
      recorder.delivered_ = first + batch.size();
      more = recorder.delivered_ < end;
    }
    if (!batch.empty()) serve([&](Sink& sink) { sink.write(first, batch); });
    return more;
  }

  // Those that throw are removed.
  template <typename Serve>
  void serve(Serve&& serve_one) {
    const auto remove = [](const char* why) {
      std::fprintf(stderr, "strandline: a sink was removed: %s\n", why);
      return true;
    };
    std::erase_if(sinks, [&](const std::shared_ptr<Sink>& sink) {
      try {
        serve_one(*sink);
        return false;
      } catch (const std::exception& fault) {
        return remove(fault.what());
      } catch (...) {
        return remove("it threw something unknown");
      }
    });
  }

  // Told even where no event came: a stream has its own bound on how long it may keep something.
  void serve_streams() {
    if (std::none_of(sinks.begin(), sinks.end(),
                     [](const auto& sink) { return is_stream(sink); })) {
      return;
    }
    const std::vector<Phase> phases = changed_phases();
    serve([&](Sink& sink) {
      auto* const stream = dynamic_cast<StreamSink*>(&sink);
      if (stream == nullptr) return;
      if (!phases.empty()) stream->write_phases(phases);
      stream->tick();
    });
  }

  static bool is_stream(const std::shared_ptr<Sink>& sink) {
    return dynamic_cast<const StreamSink*>(sink.get()) != nullptr;
  }

  // Those begun since the last time, and those of the open ones then that have ended.
  std::vector<Phase> changed_phases() {
    std::vector<Phase> changed;
    const LockGuard guard(recorder.mutex_);
    const std::vector<Phase>& all = recorder.phases_.phases();  // by number
    const auto at = [&](std::uint32_t number) {
      return std::lower_bound(all.begin(), all.end(), number,
                              [](const Phase& phase, std::uint32_t n) { return phase.number < n; });
    };
    std::vector<std::uint32_t> open;
    for (const std::uint32_t number : open_phases) {
      const auto found = at(number);
      if (found == all.end() || found->number != number) continue;
      if (found->open) {
        open.push_back(number);
      } else {
        changed.push_back(*found);
      }
    }
    for (auto phase = at(last_phase + 1); phase != all.end(); ++phase) {
      if (phase->open) open.push_back(phase->number);
      changed.push_back(*phase);
      last_phase = phase->number;
    }
    open_phases = std::move(open);
    return changed;
  }

  std::uint64_t next_sequence() {
    const LockGuard guard(recorder.mutex_);
    return recorder.ring_ != nullptr ? recorder.ring_->next_sequence() : 1;
  }

  // Without sinks nothing is delivered, and bindings may complete events in place: a first sink
  // starts at what comes next.
  void skip_to_now() {
    const LockGuard guard(recorder.mutex_);
    recorder.delivered_ = recorder.ring_ != nullptr ? recorder.ring_->next_sequence() : 1;
  }

  Recorder& recorder;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::shared_ptr<Sink>> sinks;
  std::vector<Event> batch;
  std::uint32_t last_phase = 0;            // told to streams
  std::vector<std::uint32_t> open_phases;  // of these
};

void Recorder::add_sink(std::shared_ptr<Sink> sink) {
  if (sink == nullptr) {
    throw InvalidArgument(error_message("add_sink", "sink", "null", "a sink"));
  }
  SinkPump* pump = nullptr;
  {
    const LockGuard guard(mutex_);
    if (forked_.load(std::memory_order_relaxed)) {
      throw InternalError(error_message("add_sink", "the recorder is off for good",
                                        "a forked process", "the first process"));
    }
    if (pump_ == nullptr) pump_ = new SinkPump(*this);
    pump = pump_;
  }
  const std::unique_lock<std::mutex> lock(pump->mutex);
  if (pump->sinks.empty()) {
    pump->skip_to_now();
  } else {
    pump->deliver(lock);
  }
  if (SinkPump::is_stream(sink)) pump->last_phase = 0;  // all are new to it
  pump->sinks.push_back(std::move(sink));
}

void Recorder::remove_sink(const Sink* sink) noexcept {
  SinkPump* pump = nullptr;
  {
    const LockGuard guard(mutex_);
    if (!forked_.load(std::memory_order_relaxed)) pump = pump_;  // its lock may be held by nobody
  }
  if (pump == nullptr) return;
  const std::lock_guard<std::mutex> guard(pump->mutex);
  std::erase_if(pump->sinks, [&](const auto& held) { return held.get() == sink; });
}

void Recorder::flush_sinks() noexcept {
  SinkPump* pump = nullptr;
  {
    const LockGuard guard(mutex_);
    if (!forked_.load(std::memory_order_relaxed)) pump = pump_;  // its lock may be held by nobody
  }
  if (pump == nullptr) return;
  const std::unique_lock<std::mutex> lock(pump->mutex);
  pump->deliver(lock);
}

}  // namespace strandline::record
