// SPDX-License-Identifier: Apache-2.0
// What every allocator shares, around the few virtual functions in which they differ: argument
// checks, the table of blocks, accounts, the record, memory on its way back, wrapped buffers.
// Allocator (allocator.h) is the public face of it.
//
//   invariants, under lock_:  reserved = Σ size of whole, region and wrapped blocks in use
//                             active = Σ size of allocated whole, slot and wrapped blocks
//                             leaving = Σ size of leaving blocks, part of reserved
//
// Locks: lock_ before the recorder's; the device is never called under it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/block_table.h"
#include "alloc/departures.h"
#include "alloc/state_lock.h"
#include "strandline/alloc/allocator.h"
#include "strandline/core/flat_map.h"
#include "strandline/record/recorder.h"

namespace strandline::alloc {

struct Request {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 0;  ///< 0: the allocator's own
  StreamId stream;
  PoolId pool = {};  ///< where do_prepare said so
};

class Core : public record::StateProvider {
 public:
  /// `limits.gc_bytes` is the most that the gc limit will be, whatever the memory limit.
  Core(std::string_view name, device::Device& device, device::Placement placement,
       const Limits& limits, BlockTable table = {});
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() override = default;

  /// Between the construction of the whole and its destruction: snapshots see it.
  void open(Allocator& owner);
  /// Gives everything back.
  void close() noexcept STRANDLINE_EXCLUDES(lock_);

  // -- the public calls, see allocator.h ----------------------------------------------------------

  Buffer malloc(std::uint64_t bytes, const MallocOptions& options) STRANDLINE_EXCLUDES(lock_);
  device::FreeStatus try_free(Buffer buffer) noexcept STRANDLINE_EXCLUDES(lock_);
  device::Slice slice(Buffer buffer) const STRANDLINE_EXCLUDES(lock_);
  void* raw_ptr(Buffer buffer) const STRANDLINE_EXCLUDES(lock_);
  bool hides_memory() const noexcept {
    return placement_ == device::Placement::device && !facts_.supports.host_reads_device;
  }
  void note_write(Buffer buffer, StreamId stream) STRANDLINE_EXCLUDES(lock_);
  Buffer make_buffer(void* memory, std::uint64_t bytes) STRANDLINE_EXCLUDES(lock_);
  bool can_wrap(const void* memory, std::uint64_t bytes) const noexcept;
  device::FreeStatus release(Buffer buffer) noexcept STRANDLINE_EXCLUDES(lock_);

  Limits limits() const STRANDLINE_EXCLUDES(lock_);
  MemoryLimit set_memory_limit(std::uint64_t bytes, LimitRule rule) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t set_cache_limit(std::uint64_t bytes) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t set_wired_limit(std::uint64_t bytes) STRANDLINE_EXCLUDES(lock_);
  std::uint64_t set_buffer_limit(std::uint64_t count) STRANDLINE_EXCLUDES(lock_);

  Statistics statistics() const STRANDLINE_EXCLUDES(lock_);
  std::uint64_t active_bytes() const noexcept { return active_.load(std::memory_order_relaxed); }
  void reset_peaks(PeakReset how) noexcept STRANDLINE_EXCLUDES(lock_);
  std::vector<record::SegmentState> segments() const STRANDLINE_EXCLUDES(lock_);
  std::uint64_t empty_cache() noexcept STRANDLINE_EXCLUDES(lock_);
  void validate() const STRANDLINE_EXCLUDES(lock_);

  std::string_view name() const noexcept { return name_; }
  device::Device& device() const noexcept { return device_; }

  // -- record::StateProvider ----------------------------------------------------------------------

  void lock_state() override STRANDLINE_ACQUIRE(lock_) { lock_.lock(); }
  void unlock_state() noexcept override STRANDLINE_RELEASE(lock_) { lock_.unlock(); }
  void collect_segments(std::vector<record::SegmentState>& segments) const override
      STRANDLINE_NO_LOCK_ANALYSIS;
  void begin_recording(record::InitialState& state) override STRANDLINE_NO_LOCK_ANALYSIS;

 protected:
  // -- what a core does with the lock held --------------------------------------------------------

  void hand_out(Block& block, const Request& request, record::Action action) noexcept
      STRANDLINE_REQUIRES(lock_) {
    block.use = BlockUse::allocated;
    block.requested = request.bytes;
    block.stream = request.stream;
    const std::uint64_t active = active_.load(std::memory_order_relaxed) + block.size;
    active_.store(active, std::memory_order_relaxed);
    requested_ += request.bytes;
    if (active > peak_active_) peak_active_ = active;
    ++allocated_count_;
    ++mallocs_;
    if (record::recording() || block.in_record) [[unlikely]] {
      note_handed_out(block, action);
    }
  }
  /// New memory of the device, `block`, is reserved from now on.
  void add_reserved(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  /// The block, which is not handed out and in no cache, goes to the device with this batch.
  void send_off(Block& block, bool is_wired, Departures& out) noexcept STRANDLINE_REQUIRES(lock_);
  /// Settles leaving blocks whose bytes the device has handed out again.
  void settle_overlapped(device::Address address, std::uint64_t size) noexcept
      STRANDLINE_REQUIRES(lock_);
  /// Ends what still stands at an address that the device has just given: wrapped memory that its
  /// owner freed without releasing it.
  void drop_stale(device::Address address) noexcept STRANDLINE_REQUIRES(lock_);
  void drop(Block& stale) noexcept STRANDLINE_REQUIRES(lock_);
  void note_free(Block& block, record::Action action) noexcept STRANDLINE_REQUIRES(lock_) {
    if (record::recording() || block.in_record) [[unlikely]] {
      note_freed(block, action);
    }
  }
  void note_segment(Block& block, record::Action action) noexcept STRANDLINE_REQUIRES(lock_);
  std::uint64_t staying_bytes() const noexcept STRANDLINE_REQUIRES(lock_) {
    return reserved_ - leaving_bytes_;
  }
  std::uint64_t buffers() const noexcept STRANDLINE_REQUIRES(lock_) { return buffers_; }
  std::uint64_t staying_buffers() const noexcept STRANDLINE_REQUIRES(lock_) {
    return buffers_ - leaving_buffers_;
  }

  // -- and without it -----------------------------------------------------------------------------

  /// Says that do_prepare and do_settle want to be called, or not any more.
  void attend(std::uint32_t reason) noexcept {
    attention_.fetch_or(reason, std::memory_order_relaxed);
  }
  void cease(std::uint32_t reason) noexcept {
    attention_.fetch_and(~reason, std::memory_order_relaxed);
  }
  bool attends(std::uint32_t reason) const noexcept {
    return (attention_.load(std::memory_order_relaxed) & reason) != 0;
  }

  /// Gives a batch back; how many bytes went, and how many blocks the device refused to take.
  struct Departed {
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;
  };
  Departed depart(const Departures& out) noexcept STRANDLINE_EXCLUDES(lock_);
  /// Counts, records and throws OutOfMemory. `available`: what could still have been had.
  [[noreturn]] void throw_out_of_memory(std::string_view why, const Request& request,
                                        std::uint64_t available, std::uint64_t limit)
      STRANDLINE_EXCLUDES(lock_);
  [[noreturn]] void throw_buffer_limit(const Request& request) STRANDLINE_EXCLUDES(lock_);
  std::string describe(std::string_view call) const;
  void check_stream(const char* function, StreamId stream);
  const Block& known(const char* function, Buffer buffer) const STRANDLINE_REQUIRES(lock_);
  void trim_rest() noexcept STRANDLINE_EXCLUDES(lock_);
  /// Takes back what is pending: it is not active any more.
  void end_pending(Block& block) noexcept STRANDLINE_REQUIRES(lock_) {
    pending_bytes_ -= block.size;
    pending_requested_ -= block.requested;
    --pending_count_;
    end_activity(block);
  }
  std::uint64_t device_free_bytes() const noexcept;

  /// Of the payload; what malloc gives when nothing is asked for.
  static constexpr std::uint64_t kAlignment = 64;

  device::Device& device_;
  const device::Facts& facts_;
  const device::Placement placement_;
  mutable StateLock lock_;
  BlockTable table_ STRANDLINE_GUARDED_BY(lock_);
  Limits limits_ STRANDLINE_GUARDED_BY(lock_);
  // The memory limit where it is hard, else no limit.
  std::uint64_t hard_limit_ STRANDLINE_GUARDED_BY(lock_) = UINT64_MAX;
  // Freed by the program, and still active.
  std::uint64_t pending_bytes_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t pending_requested_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t pending_count_ STRANDLINE_GUARDED_BY(lock_) = 0;

 private:
  // -- what differs, with the lock held -----------------------------------------------------------

  /// Hands out memory that is kept, if some fits; no device call.
  virtual Block* do_take(const Request& request) noexcept STRANDLINE_REQUIRES(lock_) = 0;
  /// The program has freed a block with has_uses: it stays active for now, see end_pending.
  virtual void do_defer(Block& /*block*/) noexcept STRANDLINE_REQUIRES(lock_) {}
  /// The device has taken back what stood behind the block, whose record ends.
  virtual void do_forget(Block& /*block*/) noexcept STRANDLINE_REQUIRES(lock_) {}
  /// The private pool that a block belongs to.
  virtual PoolId do_pool(const Block& /*block*/) const noexcept STRANDLINE_REQUIRES(lock_) {
    return {};
  }
  /// Takes a block back that is no longer active: keeps it, or sends it off, and notes which.
  /// False when more has to leave than the batch takes: do_trim is then called.
  virtual bool do_put(Block& block, Departures& out) noexcept STRANDLINE_REQUIRES(lock_) = 0;
  /// The device refused to take the block back; it may be tried again later.
  virtual void do_keep(Block& block) noexcept STRANDLINE_REQUIRES(lock_) = 0;
  /// Sends off what the limits no longer allow; false when the batch was too small for all.
  virtual bool do_trim(Departures& out) noexcept STRANDLINE_REQUIRES(lock_) = 0;
  /// Sends off the least recently freed, until at least so many bytes have left; as do_trim.
  virtual bool do_evict(std::uint64_t bytes, Departures& out) noexcept
      STRANDLINE_REQUIRES(lock_) = 0;
  /// Sends off all that is kept and can go; false when the batch was too small for all.
  virtual bool do_empty(Departures& out) noexcept STRANDLINE_REQUIRES(lock_) = 0;
  virtual void do_statistics(Statistics& statistics) const STRANDLINE_REQUIRES(lock_) = 0;
  virtual void do_reset_peaks() noexcept STRANDLINE_REQUIRES(lock_) {}
  /// The state of a whole or region block.
  virtual record::SegmentState do_segment(const Block& block) const STRANDLINE_REQUIRES(lock_) = 0;
  virtual void do_validate() const STRANDLINE_REQUIRES(lock_) = 0;

  // -- and without --------------------------------------------------------------------------------

  /// Before and after each malloc, free and emptying of the cache, while attend() asks for it.
  virtual void do_prepare(Request& /*request*/) STRANDLINE_EXCLUDES(lock_) {}
  virtual void do_settle() noexcept STRANDLINE_EXCLUDES(lock_) {}
  /// After a free that was deferred.
  virtual void do_deferred(Block& /*block*/) noexcept STRANDLINE_EXCLUDES(lock_) {}
  /// Before the cache is emptied.
  virtual void do_before_empty() noexcept STRANDLINE_EXCLUDES(lock_) {}
  /// Gets memory from the device and hands it out.
  virtual Block& do_obtain(const Request& request) STRANDLINE_EXCLUDES(lock_) = 0;
  virtual std::uint64_t do_set_wired_limit(std::uint64_t bytes) STRANDLINE_EXCLUDES(lock_) = 0;

  Block* malloc_recorded(const Request& request) STRANDLINE_EXCLUDES(lock_);
  Block* malloc_now(const Request& request) STRANDLINE_EXCLUDES(lock_);
  Block* obtain_new(const Request& request) STRANDLINE_EXCLUDES(lock_);
  /// It is none, or was found to be the device's.
  bool knows(StreamId stream) const noexcept {
    const std::uint32_t known =
        known_streams_[stream.value % known_streams_.size()].load(std::memory_order_relaxed);
    return known == stream.value;
  }
  void check_options(const MallocOptions& options);
  void take_back(Block& block) noexcept STRANDLINE_REQUIRES(lock_) {
    end_activity(block);
    end_allocation(block);
  }
  void end_activity(Block& block) noexcept STRANDLINE_REQUIRES(lock_) {
    active_.store(active_.load(std::memory_order_relaxed) - block.size, std::memory_order_relaxed);
    requested_ -= block.requested;
  }
  void end_allocation(Block& block) noexcept STRANDLINE_REQUIRES(lock_) {
    --allocated_count_;
    ++frees_;
    if (block.has_writers) [[unlikely]] {
      forget_writers(block);
    }
  }
  void defer(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  void forget_writers(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  void note_freed(Block& block, record::Action action) noexcept STRANDLINE_REQUIRES(lock_);
  bool settle(Block& block, device::FreeStatus status) noexcept STRANDLINE_REQUIRES(lock_);
  void unlink(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  void forget(Block& block) noexcept STRANDLINE_REQUIRES(lock_);
  device::FreeStatus misuse(const char* function, device::Address address) noexcept;
  [[noreturn]] void throw_unknown(const char* function, Buffer buffer) const;
  void check_wrap(const void* memory, std::uint64_t bytes) const;
  void drop_wrapped(Block& block) noexcept STRANDLINE_EXCLUDES(lock_);
  Block* list_wrapped(device::Address address) STRANDLINE_EXCLUDES(lock_);
  void note_handed_out(Block& block, record::Action action) noexcept STRANDLINE_REQUIRES(lock_);
  std::uint8_t device_number() const noexcept {
    return static_cast<std::uint8_t>(facts_.index.value);
  }
  std::string largest_holders() const noexcept STRANDLINE_EXCLUDES(lock_);
  void collect(std::vector<record::SegmentState>& segments, bool for_cut) const
      STRANDLINE_REQUIRES(lock_);
  void abandon_blocks() noexcept STRANDLINE_NO_LOCK_ANALYSIS;

  const std::string name_;
  const std::uint64_t gc_cap_bytes_;
  Allocator* owner_ = nullptr;

  // Read by every call, hardly ever written: beside the constants above.
  std::atomic<std::uint32_t> attention_{0};
  // Written under lock_, read anywhere.
  std::atomic<std::uint64_t> active_{0};
  std::uint64_t requested_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t peak_active_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t allocated_count_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t mallocs_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t frees_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t reserved_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t peak_reserved_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t buffers_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t leaving_bytes_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t leaving_buffers_ STRANDLINE_GUARDED_BY(lock_) = 0;
  std::uint64_t device_mallocs_ STRANDLINE_GUARDED_BY(lock_) = 0;
  Block* leaving_ STRANDLINE_GUARDED_BY(lock_) = nullptr;
  // Streams beyond the block's own that write it, by address.
  FlatMap<std::vector<StreamId>> writers_ STRANDLINE_GUARDED_BY(lock_);
  std::atomic<std::uint64_t> refused_frees_{0};
  std::atomic<std::uint64_t> out_of_memory_{0};
  // Streams that were found to be the device's, by their low bits.
  std::array<std::atomic<std::uint32_t>, 32> known_streams_ = {};
};

}  // namespace strandline::alloc
