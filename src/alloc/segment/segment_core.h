// SPDX-License-Identifier: Apache-2.0
// The core of SegmentAllocator: segments as regions of Core, blocks of them as its slots, and the
// decisions of spec segment-allocator 1.2 to 1.15.
//
//   malloc ──▶ route ──▶ the index of pool and stream: best fit ──▶ cut ──▶ handed out
//                          │ none
//                          ▼ obtain: callbacks, finished uses, old blocks, the device, reserve
//                          pools,
//                            idle segments, unfinished uses; with a search after each that may help
//   free ──▶ joined with free neighbours ──▶ the index;  or pending, until its uses are done
//
// Two sets of decisions share all of this: ours, and PyTorch's (obtain_as_pytorch). Where they
// differ a line says is_pytorch_.
//
// Locks: lock_ for all that is guarded by it; the device, filters and callbacks without any.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/core.h"
#include "alloc/faults.h"
#include "alloc/segment/accounts.h"
#include "alloc/segment/block_list.h"
#include "alloc/segment/callbacks.h"
#include "alloc/segment/pools.h"
#include "alloc/segment/routes.h"
#include "alloc/segment/size_rules.h"
#include "alloc/segment/use_queues.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

// Alone in its cache lines: two allocators do not slow each other down.
class alignas(64) SegmentCore final : public Core {
 public:
  SegmentCore(device::Device& device, const SegmentAllocatorOptions& options);
  ~SegmentCore() override;

  // -- the public calls, see segment_allocator.h --------------------------------------------------

  void record_stream(Buffer buffer, StreamId stream) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t poll_now() STRANDLINE_EXCLUDES(lock_) {
    const std::uint64_t finished = poll();
    do_settle();
    return finished;
  }

  SegmentSettings settings() const STRANDLINE_EXCLUDES(lock_);
  SegmentSettings set_settings(const SegmentSettings& settings) STRANDLINE_EXCLUDES(lock_);
  double set_memory_fraction(double fraction) STRANDLINE_EXCLUDES(lock_);
  double memory_fraction() const STRANDLINE_EXCLUDES(lock_);
  Decisions decisions() const noexcept {
    return is_pytorch_ ? Decisions::pytorch : Decisions::ours;
  }

  PoolId create_pool(const PrivatePoolOptions& options) STRANDLINE_EXCLUDES(lock_);
  void retain_pool(PoolId pool) STRANDLINE_EXCLUDES(lock_);
  void release_pool(PoolId pool) STRANDLINE_EXCLUDES(lock_);
  void destroy_pool(PoolId pool) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t pool_uses(PoolId pool) const STRANDLINE_EXCLUDES(lock_);
  void begin_pool(PoolId pool, ScopeFilter filter) STRANDLINE_EXCLUDES(lock_);
  void end_pool(PoolId pool) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t empty_pool(PoolId pool) STRANDLINE_EXCLUDES(lock_);
  std::vector<record::SegmentState> pool_segments(PoolId pool) const STRANDLINE_EXCLUDES(lock_);

  SegmentStatistics segment_statistics() const STRANDLINE_EXCLUDES(lock_);
  void reset_accumulated() noexcept STRANDLINE_EXCLUDES(lock_);

  CallbackId add_free_memory_callback(FreeMemoryCallback callback) STRANDLINE_EXCLUDES(lock_);
  CallbackId add_out_of_memory_observer(OutOfMemoryObserver observer);
  CallbackId add_trace_tracker(TraceTracker tracker) STRANDLINE_EXCLUDES(lock_);
  void remove_callback(CallbackId id) STRANDLINE_EXCLUDES(lock_);

 private:
  // Why calls are attended to, see Core::attend.
  static constexpr std::uint32_t kScopesOpen = 1;
  static constexpr std::uint32_t kUsesPending = 2;
  static constexpr std::uint32_t kTraced = 4;

  /// A request on its way past the index; the device's last refusal.
  struct Attempt {
    const Request& request;
    std::uint64_t size = 0;          ///< rounded
    std::uint64_t device_bytes = 0;  ///< what the device is asked for
    std::optional<OutOfMemory> refusal{};
    bool is_rejected = false;      ///< by throw_on_device_malloc_oom
    bool is_over_limit = false;    ///< of memory
    bool is_over_buffers = false;  ///< of buffers
  };
  class InFlight;

  // -- Core, with the lock (segment_core.cpp, segment_state.cpp) ----------------------------------

  Block* do_take(const Request& request) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_put(Block& block, Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  void do_defer(Block& block) noexcept override STRANDLINE_REQUIRES(lock_);
  void do_forget(Block& block) noexcept override STRANDLINE_REQUIRES(lock_);
  void do_keep(Block& block) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_trim(Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_evict(std::uint64_t bytes, Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  bool do_empty(Departures& out) noexcept override STRANDLINE_REQUIRES(lock_);
  void do_statistics(Statistics& statistics) const override STRANDLINE_REQUIRES(lock_);
  record::SegmentState do_segment(const Block& block) const override STRANDLINE_REQUIRES(lock_);
  PoolId do_pool(const Block& block) const noexcept override STRANDLINE_REQUIRES(lock_);
  void do_validate() const override STRANDLINE_REQUIRES(lock_);
  void do_reset_peaks() noexcept override STRANDLINE_REQUIRES(lock_);

  // -- and without --------------------------------------------------------------------------------

  void do_prepare(Request& request) override STRANDLINE_EXCLUDES(lock_);
  void do_settle() noexcept override STRANDLINE_EXCLUDES(lock_);
  void do_deferred(Block& block) noexcept override STRANDLINE_EXCLUDES(lock_);
  void do_before_empty() noexcept override STRANDLINE_EXCLUDES(lock_);
  Block& do_obtain(const Request& request) override STRANDLINE_EXCLUDES(lock_);
  std::uint64_t do_set_wired_limit(std::uint64_t) override { return 0; }

  // -- taking and putting (segment_core.cpp) ------------------------------------------------------

  HalfPool& half_for(PoolId pool, std::uint64_t size) noexcept STRANDLINE_REQUIRES(lock_);
  SegmentBlock* take_from(HalfPool& half, std::uint64_t size, const Request& request) noexcept
      STRANDLINE_REQUIRES(lock_);
  SegmentBlock* find_aligned(HalfPool& half, StreamIndex& index, std::uint64_t size,
                             std::uint64_t alignment) noexcept STRANDLINE_REQUIRES(lock_);
  /// Hands out the free block, which is in no index, or its first `size` bytes.
  void place(SegmentBlock& block, std::uint64_t size, StreamIndex& index,
             const Request& request) noexcept STRANDLINE_REQUIRES(lock_);
  void note_placed(SegmentBlock& block, Accounts::Pool kind, const Request& request) noexcept
      STRANDLINE_REQUIRES(lock_);
  // Parking: what is freed as it was taken waits for the next, see segment_core.cpp.
  void park(SegmentBlock& block) noexcept STRANDLINE_REQUIRES(lock_);
  SegmentBlock* take_parked(const Request& request) noexcept STRANDLINE_REQUIRES(lock_);
  void settle_repeats() noexcept STRANDLINE_REQUIRES(lock_);
  void unpark() noexcept STRANDLINE_REQUIRES(lock_) {
    if (repeats_ != 0) settle_repeats();
    if (parked_ != nullptr) unpark_block();
  }
  void unpark_block() noexcept STRANDLINE_REQUIRES(lock_);
  void show_parked() const noexcept STRANDLINE_REQUIRES(lock_);
  bool parks() const noexcept STRANDLINE_REQUIRES(lock_) {
    return limits_.cache_bytes == UINT64_MAX && !collects_garbage();
  }
  bool cuts(const HalfPool& half, std::uint64_t size, std::uint64_t left) const noexcept
      STRANDLINE_REQUIRES(lock_);
  void insert(SegmentBlock& block, StreamIndex& index) noexcept STRANDLINE_REQUIRES(lock_);
  static Accounts::Pool kind_of(const SegmentBlock& block) noexcept {
    return block.is_small ? Accounts::small : Accounts::large;
  }
  void book_end_allocated(const SegmentBlock& block, Accounts::Pool kind) noexcept
      STRANDLINE_REQUIRES(lock_);
  void book_end_active(const SegmentBlock& block, Accounts::Pool kind) noexcept
      STRANDLINE_REQUIRES(lock_);
  void end_allocated(SegmentBlock& block) noexcept STRANDLINE_REQUIRES(lock_);
  void end_active(SegmentBlock& block) noexcept STRANDLINE_REQUIRES(lock_);
  /// Joins a block that is not active any more with its free neighbours and puts it into its index.
  SegmentBlock& rejoin(SegmentBlock& block) noexcept STRANDLINE_REQUIRES(lock_);
  /// What is not active any more is joined with its neighbours and free.
  bool complete(SegmentBlock& block, Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  void list(SegmentBlock& block) noexcept STRANDLINE_REQUIRES(lock_);

  // -- a miss (segment_obtain.cpp) ----------------------------------------------------------------

  Block* obtain_as_pytorch(Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  Block* obtain(Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  Block* obtain_after_release(Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  Block* obtain_after_waiting(Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  bool ask_callbacks() STRANDLINE_EXCLUDES(lock_);
  Block* take_again(const Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  Block* take_from_reserve(const Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  Block* ask_device(Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  bool admit(Attempt& attempt, InFlight& in_flight) STRANDLINE_REQUIRES(lock_);
  Block& adopt(const device::Allocation& memory, const Attempt& attempt, InFlight& in_flight)
      STRANDLINE_EXCLUDES(lock_);
  Segment& add_segment(const device::Allocation& memory, HalfPool& half, StreamId stream)
      STRANDLINE_REQUIRES(lock_);
  [[noreturn]] void throw_out(Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  std::string explain(const Attempt& attempt, const OutOfMemoryReport& report)
      STRANDLINE_EXCLUDES(lock_);

  // -- giving back (segment_release.cpp) ----------------------------------------------------------

  void retire(Segment& segment, Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  /// The idle segments of a half in the order of the index; false when the batch was too small.
  bool retire_idle(HalfPool& half, Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  Segment* longest_idle() noexcept STRANDLINE_REQUIRES(lock_);
  Segment* idle_for(std::uint64_t bytes, const Attempt& attempt) noexcept
      STRANDLINE_REQUIRES(lock_);
  template <typename Choose>
  std::uint64_t release_while(Choose&& choose) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t release_idle(std::uint64_t bytes, const Attempt& attempt)
      STRANDLINE_EXCLUDES(lock_);
  bool release_oversize(const Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  void release_past_guideline(const Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  void collect_garbage() STRANDLINE_EXCLUDES(lock_);
  std::uint64_t collect_older_half() STRANDLINE_EXCLUDES(lock_);
  template <typename Visit>
  void for_each_collectable(Visit&& visit) STRANDLINE_REQUIRES(lock_);
  /// The default pool's and those that have ended.
  std::uint64_t release_cached() STRANDLINE_EXCLUDES(lock_);
  std::uint64_t release_pool_memory(PoolId id) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t missing_bytes(const Attempt& attempt) STRANDLINE_EXCLUDES(lock_);
  bool collects_garbage() const noexcept STRANDLINE_REQUIRES(lock_) {
    return rules_.has_gc_threshold() && (!is_pytorch_ || hard_limit_ != UINT64_MAX);
  }
  bool keeps_for_graph(const Segment& segment) const noexcept STRANDLINE_REQUIRES(lock_) {
    const PrivatePool* pool = segment.index->half->owner;
    return pool != nullptr && !pool->has_ended() && pool->options.holds_graph;
  }

  // -- uses (segment_uses.cpp) --------------------------------------------------------------------

  std::uint64_t poll() STRANDLINE_EXCLUDES(lock_);
  void note_use(Buffer buffer, StreamUse& use) STRANDLINE_EXCLUDES(lock_);
  void record_event(StreamUse& use) STRANDLINE_EXCLUDES(lock_);
  bool record_uses(SegmentBlock& block) noexcept STRANDLINE_NO_LOCK_ANALYSIS;
  void record_late() noexcept STRANDLINE_EXCLUDES(lock_);
  void wait_for_late() STRANDLINE_EXCLUDES(lock_);
  void queue_uses(SegmentBlock& block) noexcept STRANDLINE_REQUIRES(lock_);
  bool finish_use(StreamUse& use, Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  bool finish_front(const StreamUse& use, std::uint64_t sequence) STRANDLINE_EXCLUDES(lock_);
  void wait_for_queue(const UseQueue& queue, PoolId pool, std::uint64_t latest)
      STRANDLINE_EXCLUDES(lock_);
  /// Waits for every use of freed blocks, of one pool where it is named.
  void wait_for_uses(PoolId pool) STRANDLINE_EXCLUDES(lock_);
  /// Waits for the use recorded first; false when there is none.
  bool wait_for_oldest() STRANDLINE_EXCLUDES(lock_);

  // -- the record ---------------------------------------------------------------------------------

  void trace(record::Action action, std::uint64_t address, std::uint64_t size, StreamId stream,
             PoolId pool) noexcept STRANDLINE_REQUIRES(lock_) {
    if (attends(kTraced)) [[unlikely]] {
      keep_trace({action, address, size, stream, pool});
    }
  }
  void trace_block(record::Action action, const SegmentBlock& block) noexcept
      STRANDLINE_REQUIRES(lock_) {
    if (attends(kTraced)) [[unlikely]] {
      keep_trace({action, block.address, block.requested, block.stream, pool_of(block)});
    }
  }
  void keep_trace(const TraceEntry& entry) noexcept STRANDLINE_REQUIRES(lock_);
  PoolId pool_of(const SegmentBlock& block) const noexcept STRANDLINE_REQUIRES(lock_) {
    const PrivatePool* owner = block.segment->index->half->owner;
    return owner == nullptr ? PoolId{} : owner->id;
  }
  PrivatePool& known_pool(const char* function, PoolId pool) const STRANDLINE_REQUIRES(lock_);

  const bool is_pytorch_;
  SizeRules rules_ STRANDLINE_GUARDED_BY(lock_);
  SegmentBlock* parked_ STRANDLINE_GUARDED_BY(lock_) = nullptr;
  // Handed out last, and no index has changed since; the rounded size it was found for, and how
  // often it was freed and taken again since accounts_ have heard of it.
  SegmentBlock* placed_ STRANDLINE_GUARDED_BY(lock_) = nullptr;
  std::uint64_t repeats_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t placed_size_ STRANDLINE_GUARDED_BY(lock_) = 0;
  const HalfPool* placed_half_ STRANDLINE_GUARDED_BY(lock_) = nullptr;
  StreamId placed_stream_ STRANDLINE_GUARDED_BY(lock_);
  mutable Pools pools_ STRANDLINE_GUARDED_BY(lock_);
  Accounts accounts_ STRANDLINE_GUARDED_BY(lock_);
  std::uint64_t free_clock_ STRANDLINE_GUARDED_BY(lock_) = 0;
  UseQueues uses_ STRANDLINE_GUARDED_BY(lock_);
  std::uint64_t use_clock_ STRANDLINE_GUARDED_BY(lock_) = 0;
  SegmentBlock* late_ STRANDLINE_GUARDED_BY(lock_) = nullptr;  // pending, uses not recorded yet
  Account oversize_allocations_ STRANDLINE_GUARDED_BY(lock_);
  Account oversize_segments_ STRANDLINE_GUARDED_BY(lock_);
  std::uint64_t segment_bytes_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t segment_count_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t in_flight_bytes_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t in_flight_buffers_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint32_t last_order_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint32_t last_pool_ STRANDLINE_GUARDED_BY(lock_) = 0;
  double fraction_ STRANDLINE_GUARDED_BY(lock_) = 1;
  SegmentStatistics counted_ STRANDLINE_GUARDED_BY(lock_);  // its num_… fields
  std::vector<TraceEntry> trace_ STRANDLINE_GUARDED_BY(lock_);
  Routes routes_;
  Callbacks callbacks_;
};

// -- what every pair of malloc and free does ------------------------------------------------------

inline void SegmentCore::note_placed(SegmentBlock& block, Accounts::Pool kind,
                                     const Request& request) noexcept {
  hand_out(block, request, record::Action::alloc);
  trace_block(record::Action::alloc, block);
  accounts_.add(kind, Count::allocation, 1);
  accounts_.add(kind, Count::allocated_bytes, block.size);
  accounts_.add(kind, Count::active, 1);
  accounts_.add(kind, Count::active_bytes, block.size);
  accounts_.add(kind, Count::requested_bytes, block.requested);
}

inline void SegmentCore::book_end_allocated(const SegmentBlock& block,
                                            Accounts::Pool kind) noexcept {
  accounts_.subtract(kind, Count::allocation, 1);
  accounts_.subtract(kind, Count::allocated_bytes, block.size);
}

inline void SegmentCore::book_end_active(const SegmentBlock& block, Accounts::Pool kind) noexcept {
  accounts_.subtract(kind, Count::active, 1);
  accounts_.subtract(kind, Count::active_bytes, block.size);
  if (is_on(Fault::C12_requested_bytes_are_not_taken_back)) return;
  accounts_.subtract(kind, Count::requested_bytes, block.requested);
}

inline void SegmentCore::end_allocated(SegmentBlock& block) noexcept {
  book_end_allocated(block, kind_of(block));
  note_free(block, record::Action::free_requested);
  trace_block(record::Action::free_requested, block);
  // PyTorch asks the limit of now, and so miscounts when it was changed meanwhile.
  if (is_pytorch_ ? rules_.is_oversize(block.size) : block.is_oversize) [[unlikely]] {
    oversize_allocations_.subtract(1);
  }
}

inline void SegmentCore::end_active(SegmentBlock& block) noexcept {
  note_free(block, record::Action::free_completed);
  trace_block(record::Action::free_completed, block);
  book_end_active(block, kind_of(block));
}

inline void SegmentCore::park(SegmentBlock& block) noexcept {
  note_free(block, record::Action::free_requested);
  note_free(block, record::Action::free_completed);
  if (attends(kTraced)) [[unlikely]] {
    trace_block(record::Action::free_requested, block);
    trace_block(record::Action::free_completed, block);
  }
  block.use = BlockUse::kept;
  parked_ = &block;
}

inline SegmentBlock* SegmentCore::take_parked(const Request& request) noexcept {
  SegmentBlock& block = *std::exchange(parked_, nullptr);
  ++repeats_;
  if (request.bytes != block.requested) [[unlikely]] {
    settle_repeats();
    accounts_.replace_last(kind_of(block), Count::requested_bytes, block.requested, request.bytes);
  }
  hand_out(block, request, record::Action::alloc);
  trace_block(record::Action::alloc, block);
  return &block;
}

static_assert(alignof(SegmentCore) == 64 && sizeof(SegmentCore) % 64 == 0);

}  // namespace strandline::alloc
