// SPDX-License-Identifier: Apache-2.0
// The recorder: switching, phases, reading, faults.
#include <array>
#include <cstdio>
#include <optional>

#include "fault.h"
#include "fork.h"
#include "sink_pump.h"
#include "strandline/core/error.h"
#include "strandline/record/recorder.h"

namespace strandline::record {

void Recorder::start(const RecordOptions& options) {
  bool needs_ring = false;
  {
    const Section section(*this);
    if (!tracking()) refuse_start();
    needs_ring = ring_ == nullptr || ring_->capacity() != options.max_entries;
  }
  std::unique_ptr<EventRing> fresh;  // made before the lock is taken, the old one freed after it
  std::optional<SinkPump::Pause> pause;
  if (needs_ring) {
    fresh = std::make_unique<EventRing>(options.max_entries);
    pause.emplace(*this);
  }
  const ClockAnchor anchor = clock_anchor();
  // What providers did not tell while off becomes live before the first event can end it.
  InitialState initial;
  const ProvidersLock providers;
  providers.begin_recording(initial);
  const Section section(*this);
  if (pause) pause->take_rest(*this);
  add_initial(initial);
  if (fresh != nullptr) {
    // Numbers go on: blocks that live on remember those of their events.
    if (ring_ != nullptr) fresh->continue_from(ring_->next_sequence());
    ring_.swap(fresh);
    delivered_ = ring_->next_sequence();
  }
  options_ = options;
  stacks_.store(options.stacks, std::memory_order_relaxed);
  if (start_ticks_ == 0) {
    first_anchor_ = anchor;
    start_ticks_ = anchor.ticks;
    // What was live before is the initial state, and the first peak.
    live_.reset_peaks(0, anchor.ticks);
  }
  // What came while off may exceed the peak before.
  live_.update_peaks(ring_->next_sequence() - 1, clock_ticks());
  Mode mode = Mode::off;
  detail::g_shared.mode.compare_exchange_strong(mode, Mode::on, std::memory_order_relaxed);
  if (mode == Mode::dead) refuse_start();  // a fault on another thread, meanwhile
}

void Recorder::add_initial(const InitialState& initial) {
  for (const InitialBlock& block : initial.blocks) {
    live_.add({.address = block.address,
               .size = block.size,
               .requested = block.requested,
               .stream = block.stream,
               .pool = block.pool,
               .device = block.device});
  }
  live_.add_cached(initial.cached_bytes);
}

void Recorder::refuse_start() const {
  throw InternalError(error_message("record_memory_events", "the recorder is off for good",
                                    fault_.empty() ? "a forked process" : fault_,
                                    "the first process, without a fault"));
}

void Recorder::stop() noexcept {
  Mode expected = Mode::on;
  detail::g_shared.mode.compare_exchange_strong(expected, Mode::off, std::memory_order_relaxed);
}

void Recorder::clear_history(ClearTables clear_tables) {
  SinkPump::Pause pause(*this);
  const Section section(*this);
  pause.take_rest(*this);
  if (ring_ != nullptr) {
    ring_->clear();
    delivered_ = ring_->next_sequence();
  }
  phases_.clear();
  counters_ = {};
  live_.forget_counts();
  if (clear_tables == ClearTables::yes) {
    tables_.clear();
    live_.forget_ids();
  }
}

RecordOptions Recorder::options() const {
  const Section section(*this);
  return options_;
}

std::uint32_t Recorder::begin_phase(const std::string& name) noexcept {
  if (!recording()) return 0;
  std::uint32_t number = 0;
  guarded("begin_phase", [&] {
    const Section section(*this);
    if (!recording()) return;
    number = phases_.begin(name, thread_number(), clock_ticks(), ring_->next_sequence(),
                           live_.active(Measure::capacity));
  });
  return number;
}

void Recorder::end_phase(std::uint32_t number) noexcept {
  if (number == 0 || !tracking()) return;
  const Section section(*this);
  if (ring_ == nullptr) return;
  phases_.end(number, clock_ticks(), ring_->next_sequence(), live_.active(Measure::capacity));
}

void Recorder::reset_peak() noexcept {
  if (!tracking()) return;
  guarded("reset_peak", [&] {
    const Section section(*this);
    live_.reset_peaks(ring_ != nullptr ? ring_->next_sequence() - 1 : 0, clock_ticks());
  });
}

std::uint64_t Recorder::active(Measure measure) const noexcept {
  if (!tracking()) return 0;
  const Section section(*this);
  return live_.active(measure);
}

std::uint64_t Recorder::peak(Measure measure) const noexcept {
  if (!tracking()) return 0;
  const Section section(*this);
  return live_.peak(measure).bytes;
}

Counters Recorder::counters() const {
  const Section section(*this);
  return counters_unlocked();
}

Counters Recorder::counters_unlocked() const {
  Counters counters = counters_;
  counters.events_overwritten = ring_ != nullptr ? ring_->overwritten() : 0;
  counters.double_allocs = live_.double_allocs();
  counters.tracebacks_truncated = tables_.tracebacks.truncated_count();
  counters.ids_refused = tables_.refused();
  counters.phases_refused = phases_.refused();
  counters.forks = forks_.load(std::memory_order_relaxed);
  return counters;
}

TracebackId Recorder::traceback_of(std::uint64_t address) const noexcept {
  if (!tracking()) return {};
  const Section section(*this);
  const LiveBlock* block = live_.find(address);
  return block != nullptr ? block->holder.traceback : TracebackId{};
}

std::string Recorder::fault() const {
  const Section section(*this);
  return fault_;
}

Cut Recorder::cut(Events events) {
  Cut cut;
  std::uint64_t expected = 0;
  {
    const Section section(*this);
    if (events == Events::all && ring_ != nullptr) expected = ring_->size();
  }
  // The pages of the copy are touched before writers have to wait for it.
  cut.events.resize(expected + expected / 16);
  cut.events.clear();
  if (forked_.load(std::memory_order_relaxed)) {
    const Section section(*this);  // locks of allocators may be held by threads that are not here
    fill_cut(cut, events);
  } else {
    const ProvidersLock providers;
    const Section section(*this);
    providers.collect(cut.segments);
    fill_cut(cut, events);
  }
  cut.clock = ClockConversion(cut_anchor_first(), clock_anchor());
  return cut;
}

void Recorder::fill_cut(Cut& cut, Events events) {
  if (ring_ != nullptr) {
    cut.first_sequence = ring_->first_sequence();
    cut.next_sequence = ring_->next_sequence();
    if (events == Events::all) ring_->copy_since(cut.first_sequence, cut.events);
  }
  cut.live = live_.blocks();
  for (const Measure measure : {Measure::capacity, Measure::requested}) {
    const auto m = static_cast<std::size_t>(measure);
    cut.peak_set[m] = live_.peak_set(measure);
    cut.peak[m] = live_.peak(measure);
    cut.active[m] = live_.active(measure);
  }
  cut.phases = phases_.phases();
  cut.counters = counters_unlocked();
  cut.options = options_;
  cut.ticks = clock_ticks();
  cut.start_ticks = start_ticks_;
  cut.fault = fault_;
}

ClockAnchor Recorder::cut_anchor_first() const {
  const Section section(*this);
  return first_anchor_;
}

namespace {

// Of the parts of the room that the recorder does not own.
std::array<Mutex*, 3> other_mutexes() noexcept {
  return {&adapter_list_mutex(), &source_list_mutex(), &symbol_mutex()};
}

}  // namespace

void Recorder::lock_for_fork() noexcept {
  for (Mutex* mutex : other_mutexes()) mutex->lock();
  lock_providers_for_fork();
  mutex_.lock();
  tables_.for_each([](auto& table) { table.lock_for_fork(); });
}

void Recorder::unlock_after_fork() noexcept {
  if (tracking()) forks_.fetch_add(1, std::memory_order_relaxed);
  tables_.for_each([](auto& table) { table.unlock_after_fork(); });
  mutex_.unlock();
  unlock_providers_after_fork();
  for (Mutex* mutex : other_mutexes()) mutex->unlock();
}

void Recorder::die_in_forked_child() noexcept {
  detail::g_shared.mode.store(Mode::dead, std::memory_order_relaxed);
  forked_.store(true, std::memory_order_relaxed);
  unlock_after_fork();
}

void Recorder::fail(const char* what) noexcept {
  const LockGuard guard(mutex_);
  die_of(what);
}

void Recorder::die_of(const char* fault) noexcept {
  if (detail::g_shared.mode.exchange(Mode::dead, std::memory_order_relaxed) == Mode::dead) return;
  try {
    fault_ = fault;
  } catch (...) {  // no memory for the words; standard error still gets them
  }
  std::fprintf(stderr, "strandline: recording stopped by a fault of the recorder: %s\n", fault);
}

}  // namespace strandline::record
