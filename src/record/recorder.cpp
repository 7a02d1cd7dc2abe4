// SPDX-License-Identifier: Apache-2.0
// The recorder: what allocators and adapters write. Switching, reading and sinks are in
// recorder_control.cpp and sink_pump.cpp.
#include "strandline/record/recorder.h"

#include <exception>

#include <pthread.h>

#include "fault.h"

namespace strandline::record {

namespace detail {
constinit Shared g_shared;
}

namespace {

constexpr std::size_t kMaxPhases = 100'000;

// The ids an allocation gets: those of the open scope; without one, what this thread can tell.
Holder holder_from_thread(Recorder& recorder, std::uint64_t requested) noexcept {
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
Holder merge(Holder bound, const Holder& allocated) noexcept {
  if (!bound.traceback) bound.traceback = allocated.traceback;
  if (!bound.op) bound.op = allocated.op;
  if (!bound.layout) bound.layout = allocated.layout;
  if (!bound.label) bound.label = allocated.label;
  return bound;
}

Event event_of(Action action, const LiveBlock& block) noexcept {
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

Recorder::Recorder() : phases_(kMaxPhases) {
  pthread_atfork([] { recorder().lock_for_fork(); }, [] { recorder().unlock_after_fork(); },
                 [] { recorder().die_in_forked_child(); });
}

Recorder& detail::make_recorder() noexcept {
  static Recorder& instance = *new Recorder;
  g_shared.recorder.store(&instance, std::memory_order_release);
  return instance;
}

std::uint64_t Recorder::append(Event& event) {
  event.ticks = clock_ticks();
  event.thread = thread_number();
  const auto action = static_cast<std::size_t>(event.action);
  ++counters_.events[action];
  counters_.bytes[action] += event.size;
  return ring_->append(event);
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
    const LockGuard guard(mutex_);
    write_alloc(allocation, holder);
  });
}

void Recorder::write_alloc(const Allocation& allocation, const Holder& holder) {
  LiveBlock block{.address = allocation.address,
                  .size = allocation.size,
                  .requested = allocation.requested,
                  .holder = holder,
                  .owner = allocation.owner,
                  .stream = allocation.stream,
                  .pool = allocation.pool,
                  .thread = thread_number(),
                  .device = allocation.device};
  if (allocation.action == Action::alloc_reuse) live_.drop_cached(allocation.size);
  // Asked again under the lock: a switch between the caller's test and here must not lose a block.
  if (!recording() || ring_ == nullptr) {
    if (ring_ != nullptr) ++counters_.allocs_while_off;
    live_.add(block);
    return;
  }
  block.action = allocation.action;
  block.hidden = allocation.requested < options_.min_size;
  Event event = event_of(allocation.action, block);
  if (block.hidden) {
    ++counters_.dropped_below_min_size;
    counters_.dropped_bytes += block.size;
    event.ticks = clock_ticks();
    block.alloc_sequence = ring_->next_sequence();
  } else {
    block.alloc_sequence = append(event);
    ThreadState& state = thread_state();
    state.last_alloc_address = block.address;
    state.last_alloc_sequence = block.alloc_sequence;
  }
  block.alloc_ticks = event.ticks;
  live_.add(block);
  live_.update_peaks(block.alloc_sequence, event.ticks);
  phases_.note_active(live_.active(Measure::capacity));
}

void Recorder::note_free(const Release& release) noexcept {
  if (!tracking() || release.address == 0) return;
  guarded("note_free", [&] {
    const LockGuard guard(mutex_);
    LiveBlock block{.address = release.address, .size = release.size, .device = release.device};
    bool known = false;
    if (ends_block(release.action)) {
      known = live_.remove(release.address, block);
    } else if (const LiveBlock* found = live_.find(release.address)) {
      known = true;
      block = *found;
    }
    if (release.action == Action::free_to_cache) live_.add_cached(block.size);
    if (ring_ == nullptr) return;
    // While off, only what is in the record already is brought to its end.
    if (!recording() && (!known || block.hidden || ring_->find(block.alloc_sequence) == nullptr)) {
      return;
    }
    if (block.hidden) {
      ++counters_.dropped_below_min_size;
      return;
    }
    if (!known) ++counters_.orphan_frees;
    Event event = event_of(release.action, block);
    if (release.stream) event.stream = release.stream;
    append(event);
  });
}

void Recorder::note_segment(Action action, std::uint64_t address, std::uint64_t size,
                            StreamId stream, PoolId pool, std::uint8_t device) noexcept {
  const bool ends_segment = action == Action::cache_to_device || action == Action::segment_free;
  if (!(ends_segment ? tracking() : recording())) return;
  guarded("note_segment", [&] {
    const LockGuard guard(mutex_);
    if (action == Action::cache_to_device) live_.drop_cached(size);
    // While off, a segment that the record may show is brought to its end.
    if (!recording() && (!ends_segment || ring_ == nullptr || ring_->size() == 0)) return;
    Event event{.address = address,
                .size = size,
                .stream = stream,
                .pool = pool,
                .device = device,
                .action = action};
    append(event);
  });
}

void Recorder::note_oom(std::uint64_t requested, std::uint64_t device_free, StreamId stream,
                        std::uint8_t device) noexcept {
  if (!recording()) return;
  guarded("note_oom", [&] {
    const Holder holder = holder_from_thread(*this, requested);
    const LockGuard guard(mutex_);
    if (!recording()) return;
    Event event{.address = device_free,
                .requested = requested,
                .traceback = holder.traceback,
                .op = holder.op,
                .label = holder.label,
                .layout = holder.layout,
                .stream = stream,
                .device = device,
                .action = Action::oom};
    append(event);
  });
}

void Recorder::bind(std::uint64_t address, ArrayKey array, const Holder& holder) noexcept {
  if (!recording() || !array) return;
  guarded("bind", [&] {
    const LockGuard guard(mutex_);
    if (!recording()) return;
    LiveBlocks::Binding binding = live_.try_bind(address, array, holder);
    if (binding.bound == LiveBlocks::Bound::elsewhere) {
      if (const LiveBlock* changed = live_.leave(array)) write_holder(*changed);
      binding = live_.try_bind(address, array, holder);
    }
    note_binding(binding, holder);
  });
}

void Recorder::note_binding(const LiveBlocks::Binding& binding, const Holder& holder) {
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
    const LockGuard guard(mutex_);
    if (const LiveBlock* changed = live_.leave(array)) write_holder(*changed);
  });
}

void Recorder::write_holder(const LiveBlock& block) {
  if (!recording() || ring_ == nullptr || block.hidden) return;
  Event event = event_of(Action::holder, block);
  event.size = block.holder.view_bytes;
  event.requested = block.holder.view_offset;
  append(event);
}

bool Recorder::annotate(std::uint64_t address, LabelId label) noexcept {
  if (!recording()) return false;
  bool found = false;
  guarded("annotate", [&] {
    const LockGuard guard(mutex_);
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
    const LockGuard guard(mutex_);
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
  Event event = event_of(Action::annotate, block);
  append(event);
}

void Recorder::mark_snapshot() noexcept {
  if (!recording()) return;
  guarded("mark_snapshot", [&] {
    const LockGuard guard(mutex_);
    if (!recording()) return;
    Event event{.size = live_.active(Measure::capacity), .action = Action::snapshot};
    append(event);
  });
}

}  // namespace strandline::record
