// SPDX-License-Identifier: Apache-2.0
// Limits, statistics, segments, validation, and the end of an allocator.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "alloc/core.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

using device::FreeStatus;

void Core::open(Allocator& owner) {
  owner_ = &owner;
  record::register_state_provider(this);
}

// -- limits ---------------------------------------------------------------------------------------

Limits Core::limits() const {
  const StateGuard guard(lock_);
  return limits_;
}

MemoryLimit Core::set_memory_limit(std::uint64_t bytes, LimitRule rule) {
  MemoryLimit previous;
  {
    const StateGuard guard(lock_);
    previous = std::exchange(limits_.memory, MemoryLimit{bytes, rule});
    limits_.gc_bytes = std::min(gc_cap_bytes_, bytes);
    hard_limit_ = rule == LimitRule::hard ? bytes : UINT64_MAX;
  }
  trim_rest();
  return previous;
}

std::uint64_t Core::set_cache_limit(std::uint64_t bytes) {
  std::uint64_t previous = 0;
  {
    const StateGuard guard(lock_);
    previous = std::exchange(limits_.cache_bytes, bytes);
  }
  trim_rest();
  return previous;
}

std::uint64_t Core::set_wired_limit(std::uint64_t bytes) {
  if (!facts_.supports.residency) return 0;
  if (bytes > facts_.working_set_bytes) {
    throw InvalidArgument(error_message(describe("set_wired_limit"), "limit",
                                        fmt::format("{} bytes", bytes),
                                        fmt::format("at most the working set of {}, {} bytes",
                                                    facts_.name, facts_.working_set_bytes)));
  }
  return do_set_wired_limit(bytes);
}

std::uint64_t Core::set_buffer_limit(std::uint64_t count) {
  const StateGuard guard(lock_);
  return std::exchange(limits_.buffers, count);
}

std::uint64_t Core::empty_cache() noexcept {
  do_before_empty();
  std::uint64_t bytes = 0;
  for (bool more = true; more;) {
    Departures out;
    {
      const StateGuard guard(lock_);
      more = !do_empty(out);
    }
    const Departed departed = depart(out);
    bytes += departed.bytes;
    if (departed.refused > 0) break;  // kept: trying again at once would not end
  }
  if (attention_.load(std::memory_order_relaxed) != 0) do_settle();
  return bytes;
}

// -- what there is --------------------------------------------------------------------------------

Statistics Core::statistics() const {
  Statistics now;
  const StateGuard guard(lock_);
  now.active_bytes = active_.load(std::memory_order_relaxed);
  now.allocated_bytes = now.active_bytes - pending_bytes_;
  now.requested_bytes = requested_ - pending_requested_;
  now.reserved_bytes = reserved_;
  now.cached_bytes = reserved_ - now.active_bytes;
  now.peak_active_bytes = peak_active_;
  now.peak_reserved_bytes = peak_reserved_;
  now.allocated_count = allocated_count_;
  now.buffer_count = buffers_;
  now.mallocs = mallocs_;
  now.device_mallocs = device_mallocs_;
  now.frees = frees_;
  now.refused_frees = refused_frees_.load(std::memory_order_relaxed);
  now.out_of_memory = out_of_memory_.load(std::memory_order_relaxed);
  do_statistics(now);
  return now;
}

void Core::reset_peaks(PeakReset how) noexcept {
  const StateGuard guard(lock_);
  const bool to_zero = how == PeakReset::to_zero;
  peak_active_ = to_zero ? 0 : active_.load(std::memory_order_relaxed);
  peak_reserved_ = to_zero ? 0 : reserved_;
  do_reset_peaks();
}

std::vector<record::SegmentState> Core::segments() const {
  std::vector<record::SegmentState> segments;
  const StateGuard guard(lock_);
  collect(segments, false);
  return segments;
}

void Core::collect_segments(std::vector<record::SegmentState>& segments) const {
  collect(segments, true);
}

void Core::collect(std::vector<record::SegmentState>& segments, bool for_cut) const {
  const auto first = static_cast<std::ptrdiff_t>(segments.size());
  table_.for_each([&](const Block& block) {
    if (block.kind == BlockKind::slot || block.size == 0) return;
    // The recorder itself lists the live buffers that it has been told of.
    const bool is_live =
        block.use == BlockUse::allocated || (block.use == BlockUse::leaving && block.was_freed);
    if (for_cut && is_live && block.in_record && block.kind != BlockKind::region) return;
    lock_.assert_held();
    record::SegmentState state = do_segment(block);
    state.device = device_number();
    segments.push_back(std::move(state));
  });
  std::sort(segments.begin() + first, segments.end(),
            [](const record::SegmentState& a, const record::SegmentState& b) {
              return a.address < b.address;
            });
}

void Core::validate() const {
  const StateGuard guard(lock_);
  std::uint64_t reserved = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
  std::uint64_t allocated = 0;
  std::uint64_t buffers = 0;
  std::uint64_t leaving = 0;
  std::uint64_t pending = 0;
  std::uint64_t listed = 0;
  table_.for_each([&](const Block& block) {
    const bool wrapped_leaving = block.kind == BlockKind::wrapped && block.use == BlockUse::leaving;
    if (block.kind != BlockKind::slot) reserved += block.size;
    if (block.kind != BlockKind::slot) ++buffers;
    if (block.is_listed) ++listed;
    if (block.use == BlockUse::pending) {
      ++pending;
      active += block.size;
      requested += block.requested;
    }
    if (block.use == BlockUse::leaving && !wrapped_leaving) leaving += block.size;
    const bool is_active =
        block.kind != BlockKind::region && (block.use == BlockUse::allocated || wrapped_leaving);
    if (!is_active) return;
    active += block.size;
    requested += block.requested;
    ++allocated;
  });
  const auto check = [&](const char* what, std::uint64_t is, std::uint64_t should) {
    if (is == should) return;
    throw InternalError(
        error_message(describe("validate"), what, std::to_string(is), std::to_string(should)));
  };
  check("reserved bytes", reserved_, reserved);
  check("active bytes", active_.load(std::memory_order_relaxed), active);
  check("requested bytes", requested_, requested);
  check("allocated blocks", allocated_count_, allocated);
  check("pending blocks", pending_count_, pending);
  check("buffers", buffers_, buffers);
  check("leaving bytes", leaving_bytes_, leaving);
  check("blocks found by address", table_.listed(), listed);
  check("requested beyond active", std::max(requested_, active), active);
  check("active beyond reserved", std::max(active, reserved_), reserved_);
  do_validate();
}

// -- the end --------------------------------------------------------------------------------------

void Core::close() noexcept {
  record::unregister_state_provider(this);
  empty_cache();
  abandon_blocks();
}

// Nobody else calls any more, so there is nothing to lock.
void Core::abandon_blocks() noexcept {
  std::uint64_t lost = 0;
  table_.for_each([&](Block& block) STRANDLINE_NO_LOCK_ANALYSIS {
    const bool is_live = (block.use == BlockUse::allocated || block.use == BlockUse::pending) &&
                         block.kind != BlockKind::region;
    if (is_live && block.use == BlockUse::allocated) ++lost;
    switch (block.kind) {
      case BlockKind::whole:
        if (is_live) note_free(block, record::Action::free_to_device);
        break;
      case BlockKind::wrapped:
        if (is_live) note_free(block, record::Action::release_external);
        break;
      case BlockKind::slot:
        if (is_live) note_free(block, record::Action::free_completed);
        break;
      case BlockKind::region:
        break;
    }
  });
  table_.for_each([&](Block& block) STRANDLINE_NO_LOCK_ANALYSIS {
    if (block.kind == BlockKind::wrapped) (void)device_.memory().release_buffer(block.buffer);
    if (block.kind == BlockKind::region) note_segment(block, record::Action::segment_free);
    if (block.kind == BlockKind::whole && block.use == BlockUse::kept) {
      note_segment(block, record::Action::cache_to_device);
    }
    if (block.kind == BlockKind::whole || block.kind == BlockKind::region) {
      (void)device_.memory().deallocate(block.address);
    }
  });
  if (lost == 0) return;
  std::fprintf(stderr, "strandline: %s ended with %llu buffers that were not freed\n",
               name_.c_str(), static_cast<unsigned long long>(lost));
}

}  // namespace strandline::alloc
