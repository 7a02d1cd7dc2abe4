// SPDX-License-Identifier: Apache-2.0
// What a request does that no free block serves: two chains of steps, PyTorch's and ours, and the
// steps that they share. Giving memory back is in segment_release.cpp, uses in segment_uses.cpp.
#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "alloc/segment/segment_core.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

using device::Allocation;
using record::Action;

/// Bytes on their way from the device, so that limits hold for all threads together.
class SegmentCore::InFlight {
 public:
  explicit InFlight(SegmentCore& core) : core_(core) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() {
    if (bytes_ == 0) return;
    const StateGuard guard(core_.lock_);
    land();
  }

  void add(std::uint64_t bytes) STRANDLINE_NO_LOCK_ANALYSIS {
    bytes_ = bytes;
    core_.in_flight_bytes_ += bytes;
    ++core_.in_flight_buffers_;
  }
  /// The bytes have arrived and are reserved, or will never come.
  void land() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
    if (bytes_ == 0) return;
    core_.in_flight_bytes_ -= bytes_;
    --core_.in_flight_buffers_;
    bytes_ = 0;
  }

 private:
  SegmentCore& core_;
  std::uint64_t bytes_ = 0;
};

namespace {

/// Holds the lock where a test has switched the fault on, and nothing everywhere else.
class HeldByMistake {
 public:
  HeldByMistake(StateLock& lock, Fault fault) STRANDLINE_NO_LOCK_ANALYSIS
      : lock_(is_on(fault) ? &lock : nullptr) {
    if (lock_ != nullptr) lock_->lock();
  }
  ~HeldByMistake() { release(); }
  HeldByMistake(const HeldByMistake&) = delete;
  HeldByMistake& operator=(const HeldByMistake&) = delete;

  void release() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
    if (lock_ != nullptr) std::exchange(lock_, nullptr)->unlock();
  }

 private:
  StateLock* lock_;
};

}  // namespace

Block& SegmentCore::do_obtain(const Request& request) {
  Attempt attempt{.request = request};
  const bool is_absurd = request.bytes > SizeRules::kMostBytes ||
                         (!is_pytorch_ && request.bytes > facts_.max_allocation_bytes);
  if (is_absurd && !is_on(Fault::D16_sizes_wrap)) {
    throw_out_of_memory("more than the device can ever give", request, facts_.max_allocation_bytes,
                        facts_.total_bytes);
  }
  {
    const StateGuard guard(lock_);
    attempt.size = rules_.rounded(request.bytes);
    attempt.device_bytes = rules_.device_request(attempt.size);
  }
  Block* block = is_pytorch_ ? obtain_as_pytorch(attempt) : obtain(attempt);
  if (block == nullptr) throw_out(attempt);
  return *block;
}

// -- PyTorch's chain ------------------------------------------------------------------------------

Block* SegmentCore::obtain_as_pytorch(Attempt& attempt) {
  if (ask_callbacks()) {
    if (Block* block = take_again(attempt)) return block;
  }
  collect_garbage();
  if (Block* block = ask_device(attempt)) return block;
  if (attempt.is_rejected) return nullptr;
  if (Block* block = take_from_reserve(attempt)) return block;
  if (release_oversize(attempt)) {
    if (Block* block = ask_device(attempt)) return block;
  }
  wait_for_uses({});
  release_cached();
  {
    const StateGuard guard(lock_);
    ++counted_.num_alloc_retries;
  }
  return ask_device(attempt);  // what the uses have freed is not looked for: D-01
}

// -- ours -----------------------------------------------------------------------------------------

Block* SegmentCore::obtain(Attempt& attempt) {
  if (ask_callbacks()) {
    if (Block* block = take_again(attempt)) return block;
  }
  if (poll() > 0) {
    if (Block* block = take_again(attempt)) return block;
  }
  collect_garbage();
  release_past_guideline(attempt);
  if (Block* block = ask_device(attempt)) return block;
  if (is_on(Fault::C06_idle_memory_goes_before_reserves_are_asked)) {
    if (Block* block = obtain_after_release(attempt)) return block;
  }
  if (Block* block = take_from_reserve(attempt)) return block;
  if (Block* block = obtain_after_release(attempt)) return block;
  {
    const StateGuard guard(lock_);
    attempt.is_rejected = rules_.settings().throw_on_device_malloc_oom;
    if (attempt.is_rejected) ++counted_.num_oom_rejections;
  }
  return attempt.is_rejected ? nullptr : obtain_after_waiting(attempt);
}

// Idle memory goes as far as it takes, whoever it is kept for, and no further.
Block* SegmentCore::obtain_after_release(Attempt& attempt) {
  while (release_idle(missing_bytes(attempt), attempt) > 0) {
    if (Block* block = ask_device(attempt)) return block;
  }
  return nullptr;
}

// The use that was recorded first is most likely done first. After each the pools are searched,
// since what became free may be part of a segment.
Block* SegmentCore::obtain_after_waiting(Attempt& attempt) {
  {
    const StateGuard guard(lock_);
    ++counted_.num_alloc_retries;
  }
  wait_for_late();
  while (wait_for_oldest()) {
    (void)poll();
    if (Block* block = take_again(attempt)) return block;
    if (Block* block = obtain_after_release(attempt)) return block;
  }
  if (Block* block = take_again(attempt)) return block;
  return ask_device(attempt);
}

// -- steps ----------------------------------------------------------------------------------------

bool SegmentCore::ask_callbacks() {
  const HeldByMistake held(lock_, Fault::D36_callbacks_are_called_under_the_lock);
  bool gave = false;
  callbacks_.for_each<FreeMemoryCallback>(
      [&](const FreeMemoryCallback& callback) { gave = callback() || gave; });
  return gave;
}

Block* SegmentCore::take_again(const Attempt& attempt) {
  const StateGuard guard(lock_);
  return take_from(half_for(attempt.request.pool, attempt.size), attempt.size, attempt.request);
}

Block* SegmentCore::take_from_reserve(const Attempt& attempt) {
  if (attempt.request.pool) return nullptr;
  const StateGuard guard(lock_);
  for (PrivatePool* pool : pools_.reserves()) {
    HalfPool& half = pool->halves.half(SizeRules::is_small(attempt.size));
    if (Block* block = take_from(half, attempt.size, attempt.request)) return block;
  }
  return nullptr;
}

bool SegmentCore::admit(Attempt& attempt, InFlight& in_flight) {
  const std::uint64_t bytes = segment_bytes_ + in_flight_bytes_;
  const std::uint64_t more =
      is_on(Fault::D35_limits_count_what_was_requested) ? attempt.size : attempt.device_bytes;
  const auto past = [&](std::uint64_t limit) { return bytes > limit || more > limit - bytes; };
  attempt.is_over_limit = past(hard_limit_);
  attempt.is_over_buffers = staying_buffers() + in_flight_buffers_ >= limits_.buffers;
  if (attempt.is_over_limit || attempt.is_over_buffers) return false;
  const SegmentSettings& settings = rules_.settings();
  if (is_pytorch_ && settings.throw_on_device_malloc_oom &&
      past(static_cast<std::uint64_t>(settings.per_process_memory_fraction *
                                      static_cast<double>(facts_.total_bytes)))) {
    attempt.is_rejected = true;
    ++counted_.num_oom_rejections;
    return false;
  }
  if (!is_on(Fault::R07_memory_on_its_way_counts_for_nothing)) in_flight.add(attempt.device_bytes);
  return true;
}

Block* SegmentCore::ask_device(Attempt& attempt) {
  InFlight in_flight(*this);
  {
    const StateGuard guard(lock_);
    if (!admit(attempt, in_flight)) return nullptr;
  }
  Allocation memory;
  HeldByMistake held(lock_, Fault::D36_the_device_is_called_under_the_lock);
  try {
    memory = device_.memory().allocate(
        attempt.device_bytes,
        {.placement = placement_,
         .alignment = std::max({attempt.request.alignment, facts_.allocation_alignment,
                                std::min(SizeRules::kUnit, facts_.max_alignment)})});
  } catch (const OutOfMemory& refusal) {
    attempt.refusal.emplace(refusal);
    return nullptr;
  }
  held.release();
  return &adopt(memory, attempt, in_flight);
}

Block& SegmentCore::adopt(const Allocation& memory, const Attempt& attempt, InFlight& in_flight) {
  try {
    const StateGuard guard(lock_);
    unpark();  // what another thread has freed meanwhile
    settle_overlapped(memory.address, memory.size);
    drop_stale(memory.address);
    HalfPool& half = half_for(attempt.request.pool, attempt.size);
    Segment& segment = add_segment(memory, half, attempt.request.stream);
    in_flight.land();
    place(*segment.first, attempt.size, *segment.index, attempt.request);
    return *segment.first;
  } catch (const std::bad_alloc&) {
    (void)device_.memory().deallocate(memory.address);
    throw;
  }
}

// Everything that may fail comes first.
Segment& SegmentCore::add_segment(const Allocation& memory, HalfPool& half, StreamId stream) {
  table_.reserve_unused(3);
  const bool by_address = is_pytorch_ || !half.is_small();  // large ones fragment less so
  StreamIndex& index = half.index_of(stream, by_address ? Ties::by_address : Ties::latest_first);
  auto made = std::make_unique<Segment>();
  auto& region = static_cast<SegmentBlock&>(table_.add_unlisted(memory.address));
  auto& first = static_cast<SegmentBlock&>(table_.add_unlisted(memory.address));
  Segment& segment = *made.release();
  segment.region = &region;
  segment.first = &first;
  segment.index = &index;
  segment.order = ++last_order_;
  region.kind = BlockKind::region;
  region.use = BlockUse::allocated;
  first.kind = BlockKind::slot;
  for (SegmentBlock* block : {&region, &first}) {
    block->size = memory.size;
    block->buffer = memory.buffer;
    block->stream = stream;
    block->segment = &segment;
    block->is_small = half.is_small();
    block->order = segment.order;
    block->uses = nullptr;
    block->age_start = half.searches;
  }
  half.link(segment);
  add_reserved(region);
  note_segment(region, Action::segment_alloc);
  trace(Action::segment_alloc, memory.address, memory.size, stream, pool_of(region));
  ++segment_count_;
  segment_bytes_ += memory.size;
  ++counted_.num_device_alloc;
  accounts_.add(half.kind, Count::segment, 1);
  accounts_.add(half.kind, Count::reserved_bytes, memory.size);
  if (half.owner != nullptr) {
    ++half.owner->segments;
    half.owner->reserved.add(half.kind, Count::reserved_bytes, memory.size);
  }
  segment.is_oversize = rules_.is_oversize(memory.size);
  if (segment.is_oversize) oversize_segments_.add(1);
  return segment;
}

// -- out of memory --------------------------------------------------------------------------------

void SegmentCore::throw_out(Attempt& attempt) {
  OutOfMemoryReport report{
      .requested_bytes = attempt.request.bytes,
      .device_request_bytes = attempt.device_bytes,
      .limit_bytes = facts_.total_bytes,
      .device_free_bytes = is_on(Fault::D20_missing_information_masks_the_error)
                               ? device_.memory().info().free_bytes
                               : device_free_bytes(),
      .largest_hole_bytes = 0};
  std::uint64_t available = report.device_free_bytes;
  {
    const StateGuard guard(lock_);
    if (hard_limit_ != UINT64_MAX) {
      report.limit_bytes = hard_limit_;
      const std::uint64_t used = segment_bytes_ + in_flight_bytes_;
      available = std::min(available, hard_limit_ > used ? hard_limit_ - used : 0);
    }
    unpark();
    StreamIndex* index = half_for(attempt.request.pool, attempt.size).find(attempt.request.stream);
    const SegmentBlock* hole = index == nullptr ? nullptr : index->fit.last();
    if (hole != nullptr) report.largest_hole_bytes = hole->size;
    if (!attempt.is_rejected) {
      ++counted_.num_ooms;
      trace(Action::oom, report.device_free_bytes, attempt.size, attempt.request.stream,
            attempt.request.pool);
    }
  }
  callbacks_.for_each<OutOfMemoryObserver>(
      [&](const OutOfMemoryObserver& observer) { observer(report); });
  do_settle();
  if (attempt.is_over_buffers) throw_buffer_limit(attempt.request);
  throw_out_of_memory(explain(attempt, report), attempt.request,
                      std::max(available, report.largest_hole_bytes), report.limit_bytes);
}

std::string SegmentCore::explain(const Attempt& attempt, const OutOfMemoryReport& report) {
  std::string text;
  if (attempt.is_over_limit) {
    text = fmt::format("the memory limit of {} bytes leaves no {} bytes more", report.limit_bytes,
                       attempt.device_bytes);
  } else if (attempt.is_rejected) {
    text = fmt::format("{} bytes more are refused, as throw_on_device_malloc_oom says",
                       attempt.device_bytes);
  } else {
    text = fmt::format("{} has no {} bytes left", facts_.name, attempt.device_bytes);
  }
  std::uint64_t private_bytes = 0;
  {
    const StateGuard guard(lock_);
    for (const auto& [id, pool] : pools_.all()) {
      private_bytes += pool->reserved.current(Count::reserved_bytes);
    }
    if (pending_bytes_ > 0) {
      text += fmt::format(", {} bytes freed but in use by streams", pending_bytes_);
    }
  }
  text += fmt::format(", the device has {} free, the largest hole of this stream and pool is {}",
                      report.device_free_bytes, report.largest_hole_bytes);
  if (private_bytes > 0) text += fmt::format(", private pools hold {}", private_bytes);
  if (attempt.refusal) text += fmt::format(" ({})", attempt.refusal->what());
  return text;
}

}  // namespace strandline::alloc
