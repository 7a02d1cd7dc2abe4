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

#include "strandline/core/error.h"
#include "strandline/record/recorder.h"

namespace strandline::record {

struct Recorder::SinkPump {
  static constexpr std::chrono::milliseconds kInterval{50};

  explicit SinkPump(Recorder& owner) : recorder(owner), thread([this] { run(); }) {
    thread.detach();  // lives as long as the process, like the recorder
  }

  void run() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      wake.wait_for(lock, kInterval);
      deliver(lock);
    }
  }

  // Copies under the recorder's lock, writes without it. `mutex` is held: one delivery at a time.
  void deliver(const std::unique_lock<std::mutex>&) {
    batch.clear();
    std::uint64_t first = 0;
    {
      const LockGuard guard(recorder.mutex_);
      if (recorder.ring_ == nullptr) return;
      first = std::max(recorder.delivered_, recorder.ring_->first_sequence());
      recorder.counters_.sink_events_missed += first - recorder.delivered_;
      recorder.ring_->copy_since(first, batch);
      recorder.delivered_ = recorder.ring_->next_sequence();
    }
    if (batch.empty()) return;
    std::erase_if(sinks, [&](const std::shared_ptr<Sink>& sink) {
      try {
        sink->write(first, batch);
        return false;
      } catch (const std::exception& fault) {
        std::fprintf(stderr, "strandline: a sink was removed: %s\n", fault.what());
        return true;
      }
    });
  }

  Recorder& recorder;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::shared_ptr<Sink>> sinks;
  std::vector<Event> batch;
  std::thread thread;
};

void Recorder::add_sink(std::shared_ptr<Sink> sink) {
  if (sink == nullptr) {
    throw InvalidArgument(error_message("add_sink", "sink", "null", "a sink"));
  }
  SinkPump* pump = nullptr;
  {
    const LockGuard guard(mutex_);
    if (pump_ == nullptr) {
      pump_ = new SinkPump(*this);
      delivered_ = ring_ != nullptr ? ring_->next_sequence() : 1;
    }
    pump = pump_;
  }
  const std::lock_guard<std::mutex> guard(pump->mutex);
  pump->sinks.push_back(std::move(sink));
}

void Recorder::remove_sink(const Sink* sink) noexcept {
  SinkPump* pump = nullptr;
  {
    const LockGuard guard(mutex_);
    pump = pump_;
  }
  if (pump == nullptr) return;
  const std::lock_guard<std::mutex> guard(pump->mutex);
  std::erase_if(pump->sinks, [&](const auto& held) { return held.get() == sink; });
}

void Recorder::flush_sinks() noexcept {
  SinkPump* pump = nullptr;
  {
    const LockGuard guard(mutex_);
    pump = pump_;
  }
  if (pump == nullptr) return;
  const std::unique_lock<std::mutex> lock(pump->mutex);
  pump->deliver(lock);
}

}  // namespace strandline::record
