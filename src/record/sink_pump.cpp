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

#include "fault.h"
#include "strandline/core/error.h"
#include "strandline/record/recorder.h"

namespace strandline::record {

struct Recorder::SinkPump {
  static constexpr std::chrono::milliseconds kInterval{50};
  static constexpr std::size_t kBatchEvents = 32'768;  // 2 MB: what writers may have to wait for

  explicit SinkPump(Recorder& owner) : recorder(owner) {
    batch.reserve(kBatchEvents);
    std::thread([this] { run(); }).detach();  // lives as long as the process, like the recorder
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
    if (!batch.empty()) write_to_sinks(first);
    return more;
  }

  void write_to_sinks(std::uint64_t first) {
    const auto remove = [](const char* why) {
      std::fprintf(stderr, "strandline: a sink was removed: %s\n", why);
      return true;
    };
    std::erase_if(sinks, [&](const std::shared_ptr<Sink>& sink) {
      try {
        sink->write(first, batch);
        return false;
      } catch (const std::exception& fault) {
        return remove(fault.what());
      } catch (...) {
        return remove("it threw something unknown");
      }
    });
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
