// SPDX-License-Identifier: Apache-2.0
// The pump's thread and what it does, and the recorder's functions for sinks.
#include "sink_pump.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include <pthread.h>
#include <signal.h>

#include "fault.h"
#include "strandline/core/error.h"

namespace strandline::record {

Recorder::SinkPump::SinkPump(Recorder& owner) : recorder(owner) {
  batch.reserve(kBatchEvents);
  // Signals are the program's: its handlers do not run here, and one that a sink's own write
  // raises (SIGXFSZ, SIGPIPE) does not end it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  std::thread([this] { run(); }).detach();
  if (masked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Recorder::SinkPump::run() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    wake.wait_for(lock, kInterval);
    deliver(lock);
  }
}

void Recorder::SinkPump::deliver(const std::unique_lock<std::mutex>&) noexcept {
  guarded("delivery to sinks", [&] {
    const std::uint64_t end = next_sequence();
    while (!sinks.empty() && deliver_batch(end)) {
    }
    serve_streams();
  });
}

/// Copies under the recorder's lock, writes without it. Whether events before `end` are left.
bool Recorder::SinkPump::deliver_batch(std::uint64_t end) {
  std::uint64_t first = 0;
  bool more = false;
  {
    const Section section(recorder);
    if (recorder.ring_ == nullptr) return false;
    first = take(recorder, kBatchEvents);
    more = recorder.delivered_ < end;
  }
  if (!batch.empty()) serve([&](Sink& sink) { sink.write(first, batch); });
  return more;
}

std::uint64_t Recorder::SinkPump::take(Recorder& from, std::size_t most) {
  batch.clear();
  const std::uint64_t first = std::max(from.delivered_, from.ring_->first_sequence());
  from.ring_->copy_since(first, batch, most);
  from.counters_.sink_events_missed += first - from.delivered_;
  from.delivered_ = first + batch.size();
  return first;
}

void Recorder::SinkPump::serve_batch(std::uint64_t first) noexcept {
  guarded("delivery to sinks", [&] {
    for (std::size_t at = 0; at < batch.size(); at += kBatchEvents) {
      const std::span<const Event> rest = std::span<const Event>(batch).subspan(at);
      const auto piece = rest.first(std::min(rest.size(), kBatchEvents));
      serve([&](Sink& sink) { sink.write(first + at, piece); });
    }
  });
}

/// Those that throw are removed.
template <typename Serve>
void Recorder::SinkPump::serve(Serve&& serve_one) {
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

/// Told even where no event came: a stream has its own bound on how long it may keep something.
void Recorder::SinkPump::serve_streams() {
  if (std::none_of(sinks.begin(), sinks.end(), [](const auto& sink) { return is_stream(sink); })) {
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

/// Those begun since the last time, and those of the open ones then that have ended.
std::vector<Phase> Recorder::SinkPump::changed_phases() {
  std::vector<Phase> changed;
  const Section section(recorder);
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

std::uint64_t Recorder::SinkPump::next_sequence() {
  const Section section(recorder);
  return recorder.ring_ != nullptr ? recorder.ring_->next_sequence() : 1;
}

void Recorder::SinkPump::skip_to_now() {
  const Section section(recorder);
  recorder.delivered_ = recorder.ring_ != nullptr ? recorder.ring_->next_sequence() : 1;
}

Recorder::SinkPump::Pause::Pause(Recorder& owner) {
  {
    const LockGuard guard(owner.mutex_);
    // In a forked child the pump's lock may be held by nobody.
    if (!owner.forked_.load(std::memory_order_relaxed)) pump_ = owner.pump_;
  }
  if (pump_ == nullptr) return;
  lock_ = std::unique_lock(pump_->mutex);
  pump_->deliver(lock_);
}

Recorder::SinkPump::Pause::~Pause() {
  if (first_) pump_->serve_batch(*first_);
}

void Recorder::SinkPump::Pause::take_rest(Recorder& owner) {
  if (pump_ == nullptr || pump_->sinks.empty() || owner.ring_ == nullptr) return;
  first_ = pump_->take(owner, SIZE_MAX);
}

void Recorder::add_sink(std::shared_ptr<Sink> sink) {
  if (sink == nullptr) {
    throw InvalidArgument(error_message("add_sink", "sink", "null", "a sink"));
  }
  SinkPump* pump = nullptr;
  {
    const Section section(*this);
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
    const Section section(*this);
    if (!forked_.load(std::memory_order_relaxed)) pump = pump_;  // its lock may be held by nobody
  }
  if (pump == nullptr) return;
  const std::lock_guard<std::mutex> guard(pump->mutex);
  std::erase_if(pump->sinks, [&](const auto& held) { return held.get() == sink; });
}

void Recorder::flush_sinks() noexcept {
  SinkPump* pump = nullptr;
  {
    const Section section(*this);
    if (!forked_.load(std::memory_order_relaxed)) pump = pump_;  // its lock may be held by nobody
  }
  if (pump == nullptr) return;
  const std::unique_lock<std::mutex> lock(pump->mutex);
  pump->deliver(lock);
}

}  // namespace strandline::record
