// SPDX-License-Identifier: Apache-2.0
// The recorder: what allocators and adapters write. Switching, reading and sinks are in
// recorder_control.cpp and sink_pump.cpp.
#include "strandline/record/recorder.h"

#include <exception>
#include <utility>

#include <pthread.h>

#include "fault.h"
#include "live_blocks_paths.h"

namespace strandline::record {

namespace detail {
constinit Shared g_shared;
}

namespace {

constexpr std::size_t kMaxPhases = 100'000;

// The ids an allocation gets: those of the open scope; without one, what this thread can tell.
STRANDLINE_ALWAYS_INLINE Holder holder_from_thread(Recorder& recorder,
                                                   std::uint64_t requested) noexcept {
  const ThreadState& state = thread_state();
  Holder holder{.label = state.label, .view_bytes = requested};
  if (state.scope == nullptr) {
    holder.traceback = recorder.capture();
    return holder;
  }
  const OpContext& scope = *state.scope;
  holder.op = scope.op;
  holder.traceback = scope.traceback;
  if (scope.label) holder.label = scope.label;
  if (scope.layout_of != nullptr) holder.layout = scope.layout_of(scope.outputs, requested);
  return holder;
}

// What the first array bound knows; what it does not know is as the allocation told it.
STRANDLINE_ALWAYS_INLINE Holder merge(Holder bound, const Holder& allocated) noexcept {
  if (!bound.traceback) bound.traceback = allocated.traceback;
  if (!bound.op) bound.op = allocated.op;
  if (!bound.layout) bound.layout = allocated.layout;
  if (!bound.label) bound.label = allocated.label;
  return bound;
}

STRANDLINE_ALWAYS_INLINE Event event_of(Action action, const LiveBlock& block) noexcept {
  return {.address = block.address,
          .size = block.size,
          .requested = block.requested,
          .traceback = block.holder.traceback,
          .op = block.holder.op,
          .label = block.holder.label,
          .layout = block.holder.layout,
          .owner = block.owner,
          .stream = block.stream,
          .pool = block.pool,
          .device = block.device,
          .action = action};
}

}  // namespace

STRANDLINE_ALWAYS_INLINE Recorder::LateFree Recorder::late_free(const Release& release) noexcept {
  return {.address = release.address,
          .size = release.size,
          .ticks = clock_ticks(),
          .stream = release.stream,
          .thread = thread_number(),
          .device = release.device,
          .action = release.action};
}

Recorder::Recorder() : phases_(kMaxPhases) {
  pthread_atfork([] { recorder().lock_for_fork(); }, [] { recorder().unlock_after_fork(); },
                 [] { recorder().die_in_forked_child(); });
}

Recorder& detail::make_recorder() noexcept {
  static Recorder& instance = *new Recorder;
  g_shared.recorder.store(&instance, std::memory_order_release);
  return instance;
}

template <typename Make>
STRANDLINE_ALWAYS_INLINE const Event& Recorder::append(Make&& make) noexcept {
  Event& event = ring_->append_made(make);
  event.ticks = clock_ticks();
  event.thread = thread_number();
  count_event(event);
  return event;
}

STRANDLINE_ALWAYS_INLINE void Recorder::count_event(const Event& event) noexcept {
  const auto action = static_cast<std::size_t>(event.action);
  ++counters_.events[action];
  counters_.bytes[action] += event.size;
}

TracebackId Recorder::capture() noexcept {
  return capture_traceback(tables_.tracebacks, stacks_.load(std::memory_order_relaxed));
}

void Recorder::note_alloc(const Allocation& allocation) noexcept {
  const Mode mode = detail::g_shared.mode.load(std::memory_order_relaxed);
  if (mode == Mode::dead || allocation.address == 0) return;
  guarded("note_alloc", [&] {
    Holder holder;
    if (mode == Mode::on) {
      holder = holder_from_thread(*this, allocation.requested);
    }
    const Section section(*this);
    write_alloc(allocation, holder);
  });
}

STRANDLINE_ALWAYS_INLINE void Recorder::write_alloc(const Allocation& allocation,
                                                    const Holder& holder) {
  if (allocation.action == Action::alloc_reuse) live_.drop_cached(allocation.size);
  LiveBlock& block = live_.open(allocation.address, allocation.size, allocation.requested);
  block.holder = holder;
  block.owner = allocation.owner;
  block.stream = allocation.stream;
  block.pool = allocation.pool;
  block.thread = thread_number();
  block.device = allocation.device;
  // Asked again under the lock: a switch between the caller's test and here must not lose a block.
  if (!recording() || ring_ == nullptr) {
    if (ring_ != nullptr) ++counters_.allocs_while_off;
    return;
  }
  block.action = allocation.action;
  block.hidden = allocation.requested < options_.min_size;
  block.alloc_sequence = ring_->next_sequence();
  if (block.hidden) {
    ++counters_.dropped_below_min_size;
    counters_.dropped_bytes += block.size;
    block.alloc_ticks = clock_ticks();
  } else {
    block.alloc_ticks = append([&block] { return event_of(block.action, block); }).ticks;
    ThreadState& state = thread_state();
    state.last_alloc_address = block.address;
    state.last_alloc_sequence = block.alloc_sequence;
    state.last_alloc_place = live_.place_of(block);
  }
  live_.update_peaks(block.alloc_sequence, block.alloc_ticks);
  phases_.note_active(live_.active(Measure::capacity));
}

void Recorder::note_free(const Release& release) noexcept {
  if (!tracking() || release.address == 0) return;
  guarded("note_free", [&] {
    const LockGuard guard(mutex_);
    const bool is_on = recording() && ring_ != nullptr;
    if (!is_on || late_count_ == kMostLate) {
      if (late_count_ != 0) write_late_frees();
      return write_free(late_free(release), is_on);
    }
    late_[late_count_++] = late_free(release);
  });
}

void Recorder::write_late_frees() noexcept {
  const std::uint32_t count = std::exchange(late_count_, 0);
  try {
    for (std::uint32_t i = 0; i < count; ++i) write_free(late_[i], true);
  } catch (const std::exception& fault) {  // no memory to keep what was at the peak
    die_of(fault.what());
  }
}

STRANDLINE_ALWAYS_INLINE void Recorder::write_free(const LateFree& late, bool was_recording) {
  const LiveBlock* known =
      ends_block(late.action) ? live_.remove(late.address) : live_.find(late.address);
  if (late.action == Action::free_to_cache) {
    live_.add_cached(known != nullptr ? known->size : late.size);
  }
  if (ring_ == nullptr) return;
  // While off, only what is in the record already is brought to its end.
  if (!was_recording &&
      (known == nullptr || known->hidden || ring_->find(known->alloc_sequence) == nullptr)) {
    return;
  }
  if (known != nullptr && known->hidden) {
    ++counters_.dropped_below_min_size;
    return;
  }
  append_free(late, known);
}

STRANDLINE_ALWAYS_INLINE void Recorder::append_free(const LateFree& late,
                                                    const LiveBlock* known) noexcept {
  if (known == nullptr) ++counters_.orphan_frees;
  Event& event = ring_->append_made([&] {
    return known != nullptr ? event_of(late.action, *known)
                            : Event{.address = late.address,
                                    .size = late.size,
                                    .device = late.device,
                                    .action = late.action};
  });
  if (late.stream) event.stream = late.stream;
  event.ticks = late.ticks;
  event.thread = late.thread;
  count_event(event);
}

void Recorder::note_segment(Action action, std::uint64_t address, std::uint64_t size,
                            StreamId stream, PoolId pool, std::uint8_t device) noexcept {
  const bool ends_segment = action == Action::cache_to_device || action == Action::segment_free;
  if (!(ends_segment ? tracking() : recording())) return;
  guarded("note_segment", [&] {
    const Section section(*this);
    if (action == Action::cache_to_device) live_.drop_cached(size);
    // While off, a segment that the record may show is brought to its end.
    if (!recording() && (!ends_segment || ring_ == nullptr || ring_->size() == 0)) return;
    append([&] {
      return Event{.address = address,
                   .size = size,
                   .stream = stream,
                   .pool = pool,
                   .device = device,
                   .action = action};
    });
  });
}

void Recorder::note_oom(std::uint64_t requested, std::uint64_t device_free, StreamId stream,
                        std::uint8_t device) noexcept {
  if (!recording()) return;
  guarded("note_oom", [&] {
    const Holder holder = holder_from_thread(*this, requested);
    const Section section(*this);
    if (!recording()) return;
    append([&] {
      return Event{.address = device_free,
                   .requested = requested,
                   .traceback = holder.traceback,
                   .op = holder.op,
                   .label = holder.label,
                   .layout = holder.layout,
                   .stream = stream,
                   .device = device,
                   .action = Action::oom};
    });
  });
}

void Recorder::bind(std::uint64_t address, ArrayKey array, const Holder& holder) noexcept {
  if (!recording() || !array) return;
  guarded("bind", [&] {
    const Section section(*this);
    if (!recording()) return;
    LiveBlocks::Binding binding =
        live_.try_bind(address, array, holder, thread_state().last_alloc_place);
    if (binding.bound == LiveBlocks::Bound::elsewhere) {
      if (const LiveBlock* changed = live_.leave(array)) write_holder(*changed);
      binding = live_.try_bind(address, array, holder);
    }
    note_binding(binding, holder);
  });
}

STRANDLINE_ALWAYS_INLINE void Recorder::note_binding(const LiveBlocks::Binding& binding,
                                                     const Holder& holder) {
  switch (binding.bound) {
    case LiveBlocks::Bound::elsewhere:
    case LiveBlocks::Bound::unknown_block:
      ++counters_.unknown_binds;
      return;
    case LiveBlocks::Bound::already_bound:
    case LiveBlocks::Bound::further_sharer:
      return;
    case LiveBlocks::Bound::next_holder:
      write_holder(*binding.block);
      return;
    case LiveBlocks::Bound::first_sharer:
      break;
  }
  const LiveBlock& block = *binding.block;
  const Holder merged = merge(holder, block.holder);
  live_.amend_holder(block, merged);
  const ThreadState& state = thread_state();
  // What a sink has been given cannot be completed any more.
  Event* last = state.last_alloc_address == block.address &&
                        state.last_alloc_sequence == block.alloc_sequence &&
                        block.alloc_sequence >= delivered_
                    ? ring_->find(block.alloc_sequence)
                    : nullptr;
  if (last == nullptr) {
    write_holder(block);
    return;
  }
  last->traceback = merged.traceback;
  last->op = merged.op;
  last->layout = merged.layout;
  last->label = merged.label;
}

void Recorder::leave(ArrayKey array) noexcept {
  if (!tracking()) return;
  guarded("leave", [&] {
    const Section section(*this);
    if (const LiveBlock* changed = live_.leave(array)) write_holder(*changed);
  });
}

void Recorder::write_holder(const LiveBlock& block) {
  if (!recording() || ring_ == nullptr || block.hidden) return;
  append([&block] {
    Event event = event_of(Action::holder, block);
    event.size = block.holder.view_bytes;
    event.requested = block.holder.view_offset;
    return event;
  });
}

bool Recorder::annotate(std::uint64_t address, LabelId label) noexcept {
  if (!recording()) return false;
  bool found = false;
  guarded("annotate", [&] {
    const Section section(*this);
    const LiveBlock* block = live_.set_label(address, label);
    found = block != nullptr;
    if (found) write_annotation(*block);
  });
  return found;
}

bool Recorder::annotate_array(ArrayKey array, LabelId label) noexcept {
  if (!recording()) return false;
  bool found = false;
  guarded("annotate_array", [&] {
    const Section section(*this);
    live_.set_sharer_label(array, label);
    const LiveBlock* block = live_.block_of(array);
    found = block != nullptr;
    if (!found) return;
    const bool is_new = block->holder.label != label;
    // Also when the holder has it: a past peak may have been held by another.
    live_.set_label(block->address, label);
    if (is_new) write_annotation(*block);
  });
  return found;
}

void Recorder::write_annotation(const LiveBlock& block) {
  if (!recording() || ring_ == nullptr || block.hidden) return;
  append([&block] { return event_of(Action::annotate, block); });
}

void Recorder::mark_snapshot() noexcept {
  if (!recording()) return;
  guarded("mark_snapshot", [&] {
    const Section section(*this);
    if (!recording()) return;
    const std::uint64_t active = live_.active(Measure::capacity);
    append([active] { return Event{.size = active, .action = Action::snapshot}; });
  });
}

}  // namespace strandline::record
