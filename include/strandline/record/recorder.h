// SPDX-License-Identifier: Apache-2.0
// The recorder: one a process. Allocators and adapters report to it from any thread; a snapshot
// takes a consistent cut from it. Off, it costs its callers a load and a branch.
//
// Everything that a program's own calls can reach is noexcept. A fault in here (no memory for a
// table) turns the recorder off for good, says so once on standard error, and never reaches the
// program. In a forked child it is off as well.
//
// One mutex orders events; it is held for a ring write and a table update, and by a reader for one
// copy. It is taken after an allocator's own lock and before none.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strandline/core/clock.h"
#include "strandline/core/export.h"
#include "strandline/core/mutex.h"
#include "strandline/record/capture.h"
#include "strandline/record/event.h"
#include "strandline/record/event_ring.h"
#include "strandline/record/live_blocks.h"
#include "strandline/record/op_scope.h"
#include "strandline/record/phases.h"
#include "strandline/record/sink.h"
#include "strandline/record/state.h"
#include "strandline/record/tables.h"

namespace strandline::record {

enum class Mode : std::uint8_t {
  dead,  ///< forked child or fault: every call returns at once
  off,   ///< only address and sizes of live blocks are kept, by sources that cannot list theirs
  on,
};

struct RecordOptions {
  std::uint64_t max_entries = 1'000'000;
  std::uint64_t min_size = 0;  ///< smaller allocations are dropped from the events, and counted
  Stacks stacks = Stacks::python;

  bool operator==(const RecordOptions&) const = default;
};

/// One allocation as its allocator sees it; ids come from the thread's op scope and label.
struct Allocation {
  Action action = Action::alloc_new;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  OwnerId owner{};
  StreamId stream{};
  PoolId pool{};
  std::uint8_t device = 0;
};

struct Release {
  Action action = Action::free_to_device;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  ///< used when the block is unknown
  StreamId stream{};
  std::uint8_t device = 0;
};

/// Everything lost, capped or odd; nothing is dropped silently.
struct Counters {
  std::array<std::uint64_t, kActionCount> events{};  ///< written, by action
  std::array<std::uint64_t, kActionCount> bytes{};   ///< their sizes, by action
  std::uint64_t events_overwritten = 0;              ///< by the ring
  std::uint64_t allocs_while_off = 0;                ///< between two stretches of recording
  std::uint64_t dropped_below_min_size = 0;          ///< allocs and frees
  std::uint64_t dropped_bytes = 0;                   ///< of the allocs among them
  std::uint64_t orphan_frees = 0;                    ///< of blocks never seen
  std::uint64_t double_allocs = 0;                   ///< at an address still live
  std::uint64_t unknown_binds = 0;                   ///< arrays bound to unknown memory
  std::uint64_t tracebacks_truncated = 0;
  std::uint64_t ids_refused = 0;  ///< by the caps of the tables
  std::uint64_t phases_refused = 0;
  std::uint64_t sink_events_missed = 0;
  std::uint64_t forks = 0;
};

/// A consistent copy of everything.
struct Cut {
  std::vector<Event> events;  ///< in order; events[0] has number first_sequence
  std::uint64_t first_sequence = 1;
  std::uint64_t next_sequence = 1;
  std::vector<LiveBlock> live;         ///< by address, hidden ones included
  std::vector<SegmentState> segments;  ///< of the providers; live whole buffers are in `live`
  std::array<std::vector<LiveBlock>, kMeasureCount> peak_set;
  std::array<Peak, kMeasureCount> peak;
  std::array<std::uint64_t, kMeasureCount> active{};
  std::vector<Phase> phases;
  Counters counters;
  RecordOptions options;
  ClockConversion clock;
  std::uint64_t ticks = 0;        ///< when it was taken
  std::uint64_t start_ticks = 0;  ///< when recording was first switched on
  std::string fault;              ///< why the recorder turned itself off, empty otherwise
};

class Recorder;

namespace detail {
// Read by every hook on every thread, hardly ever written, and alone in its cache line.
struct alignas(64) Shared {
  std::atomic<Mode> mode{Mode::off};
  std::atomic<Recorder*> recorder{nullptr};
};
STRANDLINE_API extern constinit Shared g_shared;
STRANDLINE_API Recorder& make_recorder() noexcept;
}  // namespace detail

/// Whether events are recorded now.
inline bool recording() noexcept {
  return detail::g_shared.mode.load(std::memory_order_relaxed) == Mode::on;
}
/// Whether a source that cannot list its live buffers must report them: on or off, not dead.
inline bool tracking() noexcept {
  return detail::g_shared.mode.load(std::memory_order_relaxed) != Mode::dead;
}

class STRANDLINE_API Recorder {
 public:
  /// Switches on. The first start, and one with another `max_entries`, makes a new ring and forgets
  /// the events; otherwise recording goes on where it was. Throws InvalidArgument, OutOfMemory;
  /// InternalError when it is dead.
  void start(const RecordOptions& options = {}) STRANDLINE_EXCLUDES(mutex_);
  /// Switches off; events stay until `clear_history`.
  void stop() noexcept;
  enum class ClearTables : std::uint8_t { no, yes };
  /// Forgets events, phases and counters; live blocks stay. The tables go too when asked.
  void clear_history(ClearTables clear_tables = ClearTables::no) STRANDLINE_EXCLUDES(mutex_);
  RecordOptions options() const STRANDLINE_EXCLUDES(mutex_);

  // -- written by allocators and adapters ---------------------------------------------------------

  /// While on: one event and a live block. While off: address and sizes only. Address 0 is no
  /// memory and is not noted.
  void note_alloc(const Allocation& allocation) noexcept STRANDLINE_EXCLUDES(mutex_);
  /// `free_requested` leaves the block live, since a stream still uses it; the others end it.
  void note_free(const Release& release) noexcept STRANDLINE_EXCLUDES(mutex_);
  /// A segment event, or cache_to_device.
  void note_segment(Action action, std::uint64_t address, std::uint64_t size, StreamId stream,
                    PoolId pool, std::uint8_t device) noexcept STRANDLINE_EXCLUDES(mutex_);
  void note_oom(std::uint64_t requested, std::uint64_t device_free, StreamId stream,
                std::uint8_t device) noexcept STRANDLINE_EXCLUDES(mutex_);

  /// `array` is bound to the block at `address`, as owner or view. The first binding completes this
  /// thread's last event in place when that allocated the block; otherwise it writes `holder`.
  /// Where the first holder's ids are none, those of the allocation stay.
  void bind(std::uint64_t address, ArrayKey array, const Holder& holder) noexcept
      STRANDLINE_EXCLUDES(mutex_);
  /// `array` dies or is bound elsewhere; a change of holder is written.
  void leave(ArrayKey array) noexcept STRANDLINE_EXCLUDES(mutex_);

  // -- said by the program ------------------------------------------------------------------------

  /// Labels the live block at `address` for its whole life; false when there is none.
  bool annotate(std::uint64_t address, LabelId label) noexcept STRANDLINE_EXCLUDES(mutex_);
  /// Labels the block `array` is bound to, and the array as its sharer.
  bool annotate_array(ArrayKey array, LabelId label) noexcept STRANDLINE_EXCLUDES(mutex_);
  /// A marker event with the active bytes.
  void mark_snapshot() noexcept STRANDLINE_EXCLUDES(mutex_);
  /// 0 when recording is off or the cap is reached; `end_phase(0)` does nothing.
  std::uint32_t begin_phase(const std::string& name) noexcept STRANDLINE_EXCLUDES(mutex_);
  void end_phase(std::uint32_t number) noexcept STRANDLINE_EXCLUDES(mutex_);
  /// The peak becomes what is active now.
  void reset_peak() noexcept STRANDLINE_EXCLUDES(mutex_);

  // -- read
  // -----------------------------------------------------------------------------------------

  std::uint64_t active(Measure measure = Measure::capacity) const noexcept
      STRANDLINE_EXCLUDES(mutex_);
  std::uint64_t peak(Measure measure = Measure::capacity) const noexcept
      STRANDLINE_EXCLUDES(mutex_);
  Counters counters() const STRANDLINE_EXCLUDES(mutex_);
  /// The stack of this thread, none when stacks are not recorded or nothing can gather here. Must
  /// not be called under a lock that freeing memory takes: a capture may run foreign code.
  TracebackId capture() noexcept;
  /// What a traceback is made of now.
  Stacks stacks() const noexcept { return stacks_.load(std::memory_order_relaxed); }
  /// Traceback of the block that starts at `address`, none when it is not live.
  TracebackId traceback_of(std::uint64_t address) const noexcept STRANDLINE_EXCLUDES(mutex_);
  /// Why it turned itself off; empty when it did not.
  std::string fault() const STRANDLINE_EXCLUDES(mutex_);
  enum class Events : std::uint8_t { all, none };
  /// The consistent cut; writers wait for one copy. Throws std::bad_alloc.
  Cut cut(Events events = Events::all) STRANDLINE_EXCLUDES(mutex_);

  Tables& tables() noexcept { return tables_; }

  /// A sink gets every event from now on, at least every 50 ms and at `flush_sinks`. It must not
  /// call these three.
  void add_sink(std::shared_ptr<Sink> sink) STRANDLINE_EXCLUDES(mutex_);
  void remove_sink(const Sink* sink) noexcept STRANDLINE_EXCLUDES(mutex_);
  void flush_sinks() noexcept STRANDLINE_EXCLUDES(mutex_);

  /// Turns the recorder off for good, keeping what it has; said once on standard error.
  void fail(const char* what) noexcept STRANDLINE_EXCLUDES(mutex_);

 private:
  friend Recorder& detail::make_recorder() noexcept;
  struct SinkPump;

  // A free that has been noted and not written yet. Frameworks free on the threads of their streams
  // what their main thread allocated: a thread that only leaves a note moves one cache line to its
  // processor, not the ten of ring and tables, and the next writer or reader writes it down.
  struct LateFree {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t ticks = 0;
    StreamId stream{};
    std::uint16_t thread = 0;
    std::uint8_t device = 0;
    Action action = Action::none;
  };
  static constexpr std::size_t kMostLate = 32;
  static LateFree late_free(const Release& release) noexcept;

  // The lock, once every free that was noted before is written: the order of events is that in
  // which their threads had the lock.
  class STRANDLINE_SCOPED_CAPABILITY Section {
   public:
    explicit Section(const Recorder& recorder) noexcept
        STRANDLINE_ACQUIRE(recorder.mutex_) STRANDLINE_NO_LOCK_ANALYSIS : mutex_(recorder.mutex_) {
      mutex_.lock();
      if (recorder.late_count_ != 0) const_cast<Recorder&>(recorder).write_late_frees();
    }
    ~Section() STRANDLINE_RELEASE() { mutex_.unlock(); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    Mutex& mutex_;
  };

  Recorder();
  ~Recorder() = default;

  /// Writes the event that `make` returns, with time and thread, into the ring.
  template <typename Make>
  const Event& append(Make&& make) noexcept STRANDLINE_REQUIRES(mutex_);
  void append_free(const LateFree& late, const LiveBlock* known) noexcept
      STRANDLINE_REQUIRES(mutex_);
  void count_event(const Event& event) noexcept STRANDLINE_REQUIRES(mutex_);
  void write_alloc(const Allocation& allocation, const Holder& holder) STRANDLINE_REQUIRES(mutex_);
  void write_late_frees() noexcept STRANDLINE_REQUIRES(mutex_);
  void die_of(const char* fault) noexcept STRANDLINE_REQUIRES(mutex_);
  void write_free(const LateFree& late, bool was_recording) STRANDLINE_REQUIRES(mutex_);
  void write_holder(const LiveBlock& block) STRANDLINE_REQUIRES(mutex_);
  void write_annotation(const LiveBlock& block) STRANDLINE_REQUIRES(mutex_);
  void note_binding(const LiveBlocks::Binding& binding, const Holder& holder)
      STRANDLINE_REQUIRES(mutex_);
  void add_initial(const InitialState& initial) STRANDLINE_REQUIRES(mutex_);
  void fill_cut(Cut& cut, Events events) STRANDLINE_REQUIRES(mutex_);
  Counters counters_unlocked() const STRANDLINE_REQUIRES(mutex_);
  ClockAnchor cut_anchor_first() const STRANDLINE_EXCLUDES(mutex_);
  // Around a fork: the child must find whole tables and free locks.
  void lock_for_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS;
  void unlock_after_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS;
  void die_in_forked_child() noexcept;
  [[noreturn]] void refuse_start() const STRANDLINE_REQUIRES(mutex_);

  Tables tables_;
  mutable Mutex mutex_;
  std::uint32_t late_count_ STRANDLINE_GUARDED_BY(mutex_) = 0;  // beside the lock
  std::array<LateFree, kMostLate> late_ STRANDLINE_GUARDED_BY(mutex_) = {};
  std::unique_ptr<EventRing> ring_ STRANDLINE_GUARDED_BY(mutex_);
  LiveBlocks live_ STRANDLINE_GUARDED_BY(mutex_);
  PhaseList phases_ STRANDLINE_GUARDED_BY(mutex_);
  Counters counters_ STRANDLINE_GUARDED_BY(mutex_);
  RecordOptions options_ STRANDLINE_GUARDED_BY(mutex_);
  ClockAnchor first_anchor_ STRANDLINE_GUARDED_BY(mutex_);
  std::uint64_t start_ticks_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::uint64_t delivered_ STRANDLINE_GUARDED_BY(mutex_) = 1;  // next event for the sinks
  std::string fault_ STRANDLINE_GUARDED_BY(mutex_);
  SinkPump* pump_ STRANDLINE_GUARDED_BY(mutex_) = nullptr;  // never destroyed
  std::atomic<Stacks> stacks_{Stacks::python};              // options_.stacks, read without lock
  std::atomic<std::uint64_t> forks_{0};
  std::atomic<bool> forked_{false};  // this is the child
};

/// The process's recorder; made on first use, never destroyed.
inline Recorder& recorder() noexcept {
  Recorder* known = detail::g_shared.recorder.load(std::memory_order_acquire);
  return STRANDLINE_LIKELY(known != nullptr) ? *known : detail::make_recorder();
}

}  // namespace strandline::record
