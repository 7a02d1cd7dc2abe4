// SPDX-License-Identifier: Apache-2.0
// Settings, pools, callbacks, statistics, segments as others see them, and the end.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "alloc/segment/segment_core.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

using device::Placement;

namespace {

Placement placement_of(const device::Facts& facts, const SegmentAllocatorOptions& options) {
  if (options.placement) return *options.placement;
  if (facts.has(Placement::device)) return Placement::device;
  return facts.has(Placement::managed) ? Placement::managed : Placement::host;
}

Limits limits_of(const device::Facts& facts, const SegmentAllocatorOptions& options) {
  const std::uint64_t buffers = facts.max_buffers == 0 ? UINT64_MAX : facts.max_buffers;
  return {.memory = {.bytes = options.memory_limit_bytes.value_or(facts.total_bytes)},
          .gc_bytes = UINT64_MAX,
          .cache_bytes = options.cache_limit_bytes.value_or(UINT64_MAX),
          .wired_bytes = 0,
          .buffers = options.buffer_limit.value_or(buffers)};
}

}  // namespace

SegmentCore::SegmentCore(device::Device& device, const SegmentAllocatorOptions& options)
    : Core("SegmentAllocator", device, placement_of(device.facts(), options),
           limits_of(device.facts(), options), BlockTable::of<SegmentBlock>()),
      is_pytorch_(options.decisions == Decisions::pytorch) {
  (void)set_settings(options.settings);
  const double fraction = options.settings.per_process_memory_fraction;
  if (fraction < 1) (void)set_memory_fraction(fraction);
  const StateGuard guard(lock_);
  counted_.max_split_size = options.settings.max_split_bytes;
  if (is_pytorch_) {
    uses_.follow_visit_order(device.streams().default_stream());
    pools_.follow_visit_order();
  }
}

SegmentCore::~SegmentCore() {
  uses_.for_each_node([this](const StreamUse& use) {
    if (use.event) (void)device_.streams().destroy_event(use.event);
  });
  pools_.for_each_half([](HalfPool& half) {
    for (Segment* segment = half.oldest; segment != nullptr;) {
      delete std::exchange(segment, segment->next);
    }
  });
}

// -- settings and limits --------------------------------------------------------------------------

SegmentSettings SegmentCore::settings() const {
  const StateGuard guard(lock_);
  return rules_.settings();
}

SegmentSettings SegmentCore::set_settings(const SegmentSettings& settings) {
  // PyTorch lets some through that contradict one another when a string was wrong in the middle.
  if (!is_pytorch_) check_settings(settings);
  const StateGuard guard(lock_);
  unpark();
  placed_ = nullptr;  // other rules may find another block
  return std::exchange(rules_, SizeRules(settings, decisions())).settings();
}

double SegmentCore::set_memory_fraction(double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) {
    throw InvalidArgument(error_message(describe("set_memory_fraction"), "fraction",
                                        fmt::format("{}", fraction), "0 to 1"));
  }
  const auto bytes =
      static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(facts_.total_bytes)));
  if (fraction == 1 || is_on(Fault::C11_a_fraction_is_no_limit)) {
    (void)set_memory_limit(facts_.total_bytes, LimitRule::guideline);
  } else {
    (void)set_memory_limit(bytes, LimitRule::hard);
  }
  const StateGuard guard(lock_);
  return std::exchange(fraction_, fraction);
}

double SegmentCore::memory_fraction() const {
  const StateGuard guard(lock_);
  return fraction_;
}

// -- private pools --------------------------------------------------------------------------------

PrivatePool& SegmentCore::known_pool(const char* function, PoolId pool) const {
  if (PrivatePool* known = pools_.find(pool)) return *known;
  throw InvalidArgument(error_message(describe(function), "pool", std::to_string(pool.value),
                                      "a private pool that has uses or memory"));
}

PoolId SegmentCore::create_pool(const PrivatePoolOptions& options) {
  const StateGuard guard(lock_);
  const PoolId id{last_pool_ + 1};
  pools_.add(id, options);
  ++last_pool_;
  return id;
}

void SegmentCore::retain_pool(PoolId pool) {
  const StateGuard guard(lock_);
  PrivatePool& known = known_pool("retain_pool", pool);
  if (known.has_ended() && is_on(Fault::D23_ended_pools_are_refused)) {
    throw InvalidArgument("the pool has ended");
  }
  ++known.uses;
}

void SegmentCore::release_pool(PoolId pool) {
  const StateGuard guard(lock_);
  PrivatePool& known = known_pool("release_pool", pool);
  if (known.uses == 0) {
    throw InvalidArgument(
        error_message(describe("release_pool"), "uses of the pool", "0", "one that has not ended"));
  }
  pools_.end_use(known);
}

void SegmentCore::destroy_pool(PoolId pool) {
  release_pool(pool);
  bool has_ended = false;
  {
    const StateGuard guard(lock_);
    PrivatePool& known = known_pool("destroy_pool", pool);
    pools_.end_reserve(known);
    has_ended = known.has_ended();
  }
  if (!has_ended) return;
  wait_for_uses(pool);
  (void)release_pool_memory(pool);
  {
    const StateGuard guard(lock_);
    pools_.drop_ended(is_pytorch_);
  }
  do_settle();
}

std::uint64_t SegmentCore::pool_uses(PoolId pool) const {
  const StateGuard guard(lock_);
  const PrivatePool* known = pools_.find(pool);
  return known == nullptr ? 0 : known->uses;
}

void SegmentCore::begin_pool(PoolId pool, ScopeFilter filter) {
  retain_pool(pool);
  // PyTorch counts the use first, and then refuses a second scope: D-42.
  if (is_pytorch_ && routes_.has(pool)) {
    throw InvalidArgument(error_message(describe("begin_pool"), "scopes of the pool", "1",
                                        "none, as Decisions::pytorch has it"));
  }
  try {
    routes_.begin(pool, std::move(filter));
  } catch (...) {
    release_pool(pool);
    throw;
  }
  attend(kScopesOpen);
}

void SegmentCore::end_pool(PoolId pool) {
  if (!routes_.end(pool)) {
    throw InvalidArgument(
        error_message(describe("end_pool"), "scopes of the pool", "none", "one that was begun"));
  }
  if (routes_.empty()) {
    cease(kScopesOpen);
    if (!routes_.empty()) attend(kScopesOpen);  // another thread began one in between
  }
  if (!is_on(Fault::C08_leaving_a_pool_keeps_its_use)) release_pool(pool);
}

std::uint64_t SegmentCore::empty_pool(PoolId pool) {
  {
    const StateGuard guard(lock_);
    const PrivatePool& known = known_pool("empty_pool", pool);
    const bool is_kept = is_pytorch_ || known.options.holds_graph;
    if (is_kept && !known.has_ended()) return 0;
  }
  wait_for_uses(pool);
  const std::uint64_t bytes = release_pool_memory(pool);
  do_settle();
  return bytes;
}

std::vector<record::SegmentState> SegmentCore::pool_segments(PoolId pool) const {
  std::vector<record::SegmentState> segments;
  const StateGuard guard(lock_);
  PoolHalves& halves = pool ? known_pool("pool_segments", pool).halves : pools_.default_pool();
  for (const HalfPool* half : {&halves.small, &halves.large}) {
    for (const Segment* one = half->oldest; one != nullptr; one = one->next) {
      segments.push_back(do_segment(*one->region));
    }
  }
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  return segments;
}

// -- callbacks ------------------------------------------------------------------------------------

CallbackId SegmentCore::add_free_memory_callback(FreeMemoryCallback callback) {
  return callbacks_.add(std::move(callback));
}

CallbackId SegmentCore::add_out_of_memory_observer(OutOfMemoryObserver observer) {
  return callbacks_.add(std::move(observer));
}

CallbackId SegmentCore::add_trace_tracker(TraceTracker tracker) {
  const CallbackId id = callbacks_.add(std::move(tracker));
  attend(kTraced);
  return id;
}

void SegmentCore::remove_callback(CallbackId id) {
  callbacks_.remove(id);
  if (!callbacks_.has<TraceTracker>()) cease(kTraced);
}

// -- statistics -----------------------------------------------------------------------------------

SegmentStatistics SegmentCore::segment_statistics() const {
  const StateGuard guard(lock_);
  show_parked();
  SegmentStatistics now = counted_;
  now.allocation = accounts_.stat(Count::allocation);
  now.segment = accounts_.stat(Count::segment);
  now.active = accounts_.stat(Count::active);
  now.inactive_split = accounts_.stat(Count::inactive_split);
  now.allocated_bytes = accounts_.stat(Count::allocated_bytes);
  now.reserved_bytes = accounts_.stat(Count::reserved_bytes);
  now.active_bytes = accounts_.stat(Count::active_bytes);
  now.inactive_split_bytes = accounts_.stat(Count::inactive_split_bytes);
  now.requested_bytes = accounts_.stat(Count::requested_bytes);
  now.oversize_allocations = oversize_allocations_.stat();
  now.oversize_segments = oversize_segments_.stat();
  for (const auto& [id, reserved] : pools_.reserved()) {
    const StatByPool stat = reserved.stat(Count::reserved_bytes);
    if (stat.all.peak > 0) now.reserved_bytes_by_private_pools[id] = stat;
  }
  now.pending_free_blocks = pending_count_;
  now.pending_free_bytes = pending_bytes_;
  return now;
}

void SegmentCore::reset_accumulated() noexcept {
  const StateGuard guard(lock_);
  unpark();
  accounts_.reset_added();
  oversize_allocations_.reset_added();
  oversize_segments_.reset_added();
  for (auto& [id, reserved] : pools_.reserved()) reserved.reset_added();
  const std::uint64_t max_split = counted_.max_split_size;
  counted_ = SegmentStatistics{};
  counted_.max_split_size = max_split;
}

void SegmentCore::do_reset_peaks() noexcept {
  unpark();
  accounts_.reset_peaks();
  oversize_allocations_.reset_peak();
  oversize_segments_.reset_peak();
  for (auto& [id, reserved] : pools_.reserved()) reserved.reset_peaks();
}

// A parked block is brought where it belongs before anybody looks; nothing that shows changes.
void SegmentCore::show_parked() const noexcept {
  const_cast<SegmentCore*>(this)->unpark();
}

void SegmentCore::do_statistics(Statistics& statistics) const {
  show_parked();
  std::uint64_t idle_bytes = 0;
  pools_.for_each_half([&](const HalfPool& half) {
    for (const Segment* one = half.oldest; one != nullptr; one = one->next) {
      if (!one->is_idle() && !one->is_leaving) continue;
      ++statistics.cached_count;
      idle_bytes += one->region->size;
    }
  });
  statistics.spare_bytes = statistics.cached_bytes - idle_bytes;
}

// -- segments -------------------------------------------------------------------------------------

record::SegmentState SegmentCore::do_segment(const Block& block) const {
  record::SegmentState state;
  state.address = block.address;
  state.size = block.size;
  if (block.kind != BlockKind::region) {  // wrapped memory
    state.blocks.push_back(
        {block.address, block.size, block.requested, record::BlockUse::allocated, {}});
    return state;
  }
  show_parked();
  const Segment& segment = *static_cast<const SegmentBlock&>(block).segment;
  state.stream = block.stream;
  state.pool = do_pool(block);
  state.is_small = segment.index->half->is_small();
  for (const SegmentBlock* one = segment.first; one != nullptr; one = one->following()) {
    record::BlockState piece;
    piece.address = one->address;
    piece.size = one->size;
    if (one->use == BlockUse::allocated) piece.use = record::BlockUse::allocated;
    if (one->use == BlockUse::pending) piece.use = record::BlockUse::pending_free;
    const bool is_free = piece.use == record::BlockUse::inactive;
    if (!is_free || is_pytorch_) piece.requested = one->requested;  // PyTorch's is of its last use
    state.blocks.push_back(piece);
  }
  return state;
}

}  // namespace strandline::alloc
