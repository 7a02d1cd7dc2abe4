// SPDX-License-Identifier: Apache-2.0
// Memory in segments that are cut into blocks, after PyTorch's design for CUDA: sizes are rounded
// to 512 bytes, requests up to 1 MiB share segments of 2 MiB, larger ones segments of 20 MiB, and
// from 10 MiB on each has its own. A free block serves requests of the stream it was allocated for,
// the smallest that fits first, the older segment and the lower address among equals.
//
//   alloc::SegmentAllocator allocator(device);
//   alloc::Buffer a = allocator.malloc(3 << 20, {.stream = compute});
//   allocator.record_stream(a, copy);   // the copy stream uses it as well
//   allocator.free(a);                  // reusable once that work of the copy stream is done
//
// What differs from PyTorch by default, and why, stands in docs/segment-allocator.md;
// Decisions::pytorch takes every decision as it does, for replay and comparison.
//
// Streams: memory may be reused by its own stream at once after free, since work of one stream is
// done in order. Uses by others are said with record_stream.
// Threads: every call from any thread. No callback is called, and the device is not called, under
// the allocator's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "strandline/alloc/allocator.h"
#include "strandline/alloc/segment_settings.h"
#include "strandline/alloc/segment_statistics.h"
#include "strandline/core/export.h"
#include "strandline/core/ids.h"
#include "strandline/record/event.h"

namespace strandline::alloc {

class SegmentCore;

enum class Decisions : std::uint8_t {
  ours,     ///< PyTorch's design without its defects
  pytorch,  ///< each as PyTorch 2.15 takes it; what is unsafe there is refused
};

struct SegmentAllocatorOptions {
  /// Default: device memory where the device has it, else managed, else the host's.
  std::optional<device::Placement> placement{};
  SegmentSettings settings = {};
  Decisions decisions = Decisions::ours;
  std::optional<std::uint64_t> memory_limit_bytes{};  ///< default: the device; a guideline
  std::optional<std::uint64_t> cache_limit_bytes{};   ///< default: none
  std::optional<std::uint64_t> buffer_limit{};        ///< default: Facts::max_buffers, else none
};

struct PrivatePoolOptions {
  bool use_on_oom = false;  ///< its free memory serves everybody when there is no other
  bool no_split = false;    ///< its blocks are handed out whole
  /// Captured work refers to its memory by address: nothing leaves before the last use ends.
  bool holds_graph = false;
};

/// Which requests a routing scope takes: by stream; without, all of the thread that began it.
/// Called without a lock; must not call the allocator.
using ScopeFilter = std::function<bool(StreamId stream)>;

/// One line of history, as PyTorch's trace entries.
struct TraceEntry {
  record::Action action = record::Action::none;
  std::uint64_t address = 0;  ///< of the block or segment; oom: bytes free on the device
  std::uint64_t size = 0;     ///< alloc and free: as requested; oom: rounded; else of the segment
  StreamId stream{};
  PoolId pool{};

  bool operator==(const TraceEntry&) const = default;
};

/// What ran out of memory, told before OutOfMemory is thrown.
struct OutOfMemoryReport {
  std::uint64_t requested_bytes = 0;
  std::uint64_t device_request_bytes = 0;  ///< what the device was asked for
  std::uint64_t limit_bytes = 0;           ///< the memory limit, the device's total where none
  std::uint64_t device_free_bytes = 0;
  std::uint64_t largest_hole_bytes = 0;  ///< the largest free block of the stream and pool
};

/// Asked for memory when there is none: gives some back to the allocator and says whether.
using FreeMemoryCallback = std::function<bool()>;
using OutOfMemoryObserver = std::function<void(const OutOfMemoryReport&)>;
using TraceTracker = std::function<void(const TraceEntry&)>;
enum class CallbackId : std::uint64_t {};

class STRANDLINE_API SegmentAllocator final : public Allocator {
 public:
  /// The device outlives the allocator. InvalidArgument for options it cannot serve.
  explicit SegmentAllocator(device::Device& device, const SegmentAllocatorOptions& options = {});

  // -- streams ------------------------------------------------------------------------------------

  /// Work that was queued on `stream` so far uses the buffer: after free it is not reused before
  /// that work is done. Say it behind the work. With Decisions::pytorch the work queued until free
  /// is meant. Nothing for null and for the buffer's own stream. InvalidArgument for an unknown
  /// buffer or stream; DeviceError when the device cannot note the point, and nothing is changed.
  void record_stream(Buffer buffer, StreamId stream);
  /// Completes frees whose streams are done; the number of blocks that became free. malloc does it
  /// when it needs memory.
  std::uint64_t poll();

  // -- settings -----------------------------------------------------------------------------------

  [[nodiscard]] SegmentSettings settings() const;
  /// Takes effect at once, as a whole or (InvalidArgument) not at all; what was set before. The
  /// fraction of memory is not applied here, see set_memory_fraction.
  SegmentSettings set_settings(const SegmentSettings& settings);
  /// The share of the device's memory that may be reserved, in [0, 1]; 1: no limit. The same limit
  /// as set_memory_limit(bytes, LimitRule::hard). What was set before.
  double set_memory_fraction(double fraction);
  [[nodiscard]] double memory_fraction() const;
  [[nodiscard]] Decisions decisions() const noexcept;

  // -- private pools ------------------------------------------------------------------------------

  /// A pool of its own segments, used once: release_pool ends that use.
  PoolId create_pool(const PrivatePoolOptions& options = {});
  /// One use more, which keeps the pool's memory; of a pool that ended as well.
  void retain_pool(PoolId pool);
  /// One use less. At none its memory can go back to the device, and the pool with its last byte.
  void release_pool(PoolId pool);
  /// As release_pool, and gives what can go back to the device at once.
  void destroy_pool(PoolId pool);
  [[nodiscard]] std::uint64_t pool_uses(PoolId pool) const;
  /// Requests that the filter takes are served from the pool until end_pool; the scope begun last
  /// decides. It is one use of the pool, and may be entered again (Decisions::pytorch: that is
  /// InvalidArgument).
  void begin_pool(PoolId pool, ScopeFilter filter = {});
  /// Ends the innermost scope of the pool that this thread began, or else any; InvalidArgument
  /// where there is none.
  void end_pool(PoolId pool);
  /// Gives the pool's wholly free segments back to the device; the bytes.
  std::uint64_t empty_pool(PoolId pool);
  /// What is reserved for the pool, by address; of the default pool for none.
  [[nodiscard]] std::vector<record::SegmentState> pool_segments(PoolId pool) const;

  // -- statistics ---------------------------------------------------------------------------------

  [[nodiscard]] SegmentStatistics segment_statistics() const;
  /// Sums and counters begin at 0; peaks are those of reset_peaks.
  void reset_accumulated() noexcept;

  // -- callbacks ----------------------------------------------------------------------------------

  CallbackId add_free_memory_callback(FreeMemoryCallback callback);
  CallbackId add_out_of_memory_observer(OutOfMemoryObserver observer);
  /// Told of every entry, in order, when the call that caused it ends, or one of another thread.
  CallbackId add_trace_tracker(TraceTracker tracker);
  void remove_callback(CallbackId id);

 private:
  explicit SegmentAllocator(std::unique_ptr<SegmentCore> core);
  SegmentAllocator(SegmentCore& segments, std::unique_ptr<SegmentCore> core);

  SegmentCore& segments_;
};

}  // namespace strandline::alloc
