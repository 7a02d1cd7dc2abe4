// SPDX-License-Identifier: Apache-2.0
// Hooks of MLX's allocator. One lock spans the real malloc or free and its event: without it
// another thread could be given a freed buffer before the free is recorded, and the peak with it
// would be wrong. MLX's own lock is inside; nothing of Python is called under it.
#include <array>
#include <atomic>
#include <utility>

#include "cached_buffers.h"
#include "describe.h"
#include "hook_calls.h"
#include "leaf_scope.h"
#include "quietly.h"
#include "replacement.h"

namespace strandline::mlx_adapter {
namespace {

using mx::allocator::Buffer;
using record::Action;
using record::recorder;

std::atomic<std::uint64_t> g_lost_bytes{0};

// A free mostly happens on a stream's thread: it leaves a note beside the lock, and the mirror, in
// many cache lines, is brought up to date by the next malloc, which is mostly on another thread.
//
//   invariant, under mutex:  total = cached.total() + Σ size of the late ones
//
// MLX tells its cache's total under a lock of its own. It keeps what is freed when the total stays
// within a limit, so with a total no larger than one it has kept it need not be asked:
//
//   proven_total <= MLX's limit of its cache; 0 while that may be changing
struct CacheState final : record::StateProvider {
  static constexpr std::size_t kMostLate = 30;

  Mutex mutex;
  std::uint32_t late_count STRANDLINE_GUARDED_BY(mutex) = 0;
  std::uint64_t total STRANDLINE_GUARDED_BY(mutex) = 0;
  std::uint64_t proven_total STRANDLINE_GUARDED_BY(mutex) = 0;
  std::uint32_t limit_changes STRANDLINE_GUARDED_BY(mutex) = 0;  // under way
  std::array<CachedBuffer, kMostLate> late STRANDLINE_GUARDED_BY(mutex);
  CachedBuffers cached STRANDLINE_GUARDED_BY(mutex);
  std::vector<CachedBuffer> evicted STRANDLINE_GUARDED_BY(mutex);

  void lock_state() override STRANDLINE_ACQUIRE(mutex) {
    mutex.lock();
    try {
      settle();
    } catch (...) {
      stop_recording_by_fault();
    }
  }
  void unlock_state() noexcept override STRANDLINE_RELEASE(mutex) { mutex.unlock(); }
  void collect_segments(std::vector<record::SegmentState>& segments) const override
      STRANDLINE_NO_LOCK_ANALYSIS {
    for (const CachedBuffer& buffer : cached.buffers()) {
      segments.push_back({.address = buffer.address,
                          .size = buffer.size,
                          .blocks = {{.address = buffer.address, .size = buffer.size}}});
    }
  }

  STRANDLINE_ALWAYS_INLINE void settle() STRANDLINE_REQUIRES(mutex) {
    const std::uint32_t count = std::exchange(late_count, 0);
    for (std::uint32_t i = 0; i < count; ++i) cached.put(late[i].address, late[i].size);
  }

  // What the hooks below record after MLX has done its part, under the lock that spans both.

  STRANDLINE_ALWAYS_INLINE void note_malloc(std::uint64_t address, std::uint64_t size,
                                            std::uint64_t requested) noexcept
      STRANDLINE_REQUIRES(mutex) try {
    const record::OpContext* scope = record::thread_state().scope;
    const StreamId stream = scope != nullptr ? scope->stream : StreamId{};
    if (address == 0) {
      // MLX has counted the bytes as active all the same.
      g_lost_bytes.fetch_add(requested, std::memory_order_relaxed);
      recorder().note_oom(requested, 0, stream, 0);
      return;
    }
    settle();
    const bool reused = cached.take(address);
    total = cached.total();
    recorder().note_alloc({.action = reused ? Action::alloc_reuse : Action::alloc_new,
                           .address = address,
                           .size = size,
                           .requested = requested,
                           .stream = stream});
    if (!reused) follow_cache(mlx_functions().get_cache_memory());
  } catch (...) {
    stop_recording_by_fault();
  }

  STRANDLINE_ALWAYS_INLINE void note_free(std::uint64_t address, std::uint64_t size) noexcept
      STRANDLINE_REQUIRES(mutex) try {
    std::uint64_t now = total + size;
    if (now > proven_total) {
      now = mlx_functions().get_cache_memory();
      if (now == total + size && limit_changes == 0) proven_total = now;
    }
    const bool kept = now > total;
    if (kept) {
      if (late_count == kMostLate) settle();
      late[late_count++] = {address, size};
      total += size;
    }
    recorder().note_free({.action = kept ? Action::free_to_cache : Action::free_to_device,
                          .address = address,
                          .size = size});
    follow_cache(now);
  } catch (...) {
    stop_recording_by_fault();
  }

  // MLX's cache is smaller than the mirror: what left it went to the system.
  void follow_cache(std::uint64_t now) STRANDLINE_REQUIRES(mutex) {
    if (now >= total) return;
    settle();
    evicted.clear();
    cached.shrink_to(now, evicted);
    total = cached.total();
    for (const CachedBuffer& buffer : evicted) {
      recorder().note_segment(Action::cache_to_device, buffer.address, buffer.size, {}, {}, 0);
    }
  }
};

STRANDLINE_ALWAYS_INLINE CacheState& cache_state() noexcept {
  static CacheState& state = *new CacheState;
  return state;
}
// Made with the adapter: a child of a fork never waits for a thread that was making it.
[[maybe_unused]] const CacheState& g_cache_state = cache_state();

STRANDLINE_ALWAYS_INLINE mx::allocator::Allocator& real_allocator() noexcept {
  static mx::allocator::Allocator& allocator = mlx_functions().allocator();
  return allocator;
}

class RecordingAllocator final : public mx::allocator::Allocator {
 public:
  Buffer malloc(std::size_t size) override {
    count_call(Hook::malloc);
    if (!tracking()) return real_allocator().malloc(size);
    return in_leaf_scope([size] { return malloc_recorded(size); });
  }

  void free(Buffer buffer) override {
    count_call(Hook::free);
    if (!tracking() || buffer.ptr() == nullptr) return real_allocator().free(buffer);
    CacheState& state = cache_state();
    mx::allocator::Allocator& real = real_allocator();
    const LockGuard guard(state.mutex);
    const std::uint64_t size = real.size(buffer);
    real.free(buffer);
    state.note_free(payload_of(buffer), size);
  }

  // Not inline: compilers try first whether a call of the real one comes back here.
  __attribute__((noinline)) std::size_t size(Buffer buffer) const override {
    return real_allocator().size(buffer);
  }
  Buffer make_buffer(void* data, std::size_t size) override {
    return real_allocator().make_buffer(data, size);
  }
  void release(Buffer buffer) override { real_allocator().release(buffer); }

 private:
  static Buffer malloc_recorded(std::size_t size) {
    CacheState& state = cache_state();
    mx::allocator::Allocator& real = real_allocator();
    const LockGuard guard(state.mutex);
    const Buffer buffer = real.malloc(size);
    const std::uint64_t address = payload_of(buffer);
    state.note_malloc(address, address != 0 ? real.size(buffer) : 0, size);
    return buffer;
  }
};

// Calls that may empty the cache or change its limit; MLX waits for its streams in them, and those
// threads free memory through the hooks above, so the lock is taken before and after.
template <typename Call>
auto then_follow_cache(Call&& call) {
  struct Follow {
    const bool was_tracking = tracking();  // in a forked child the lock may be held by nobody

    Follow() {
      if (!was_tracking) return;
      CacheState& state = cache_state();
      const LockGuard guard(state.mutex);
      ++state.limit_changes;
      state.proven_total = 0;
    }
    ~Follow() {
      if (!was_tracking || !tracking()) return;
      CacheState& state = cache_state();
      const LockGuard guard(state.mutex);
      --state.limit_changes;
      try {
        state.follow_cache(mlx_functions().get_cache_memory());
      } catch (...) {
        stop_recording_by_fault();
      }
    }
  } follow;
  return call();
}

}  // namespace

std::uint64_t lost_by_mlx() noexcept {
  return g_lost_bytes.load(std::memory_order_relaxed);
}

void register_cache_state() {
  record::register_state_provider(&cache_state());
}

mx::allocator::Allocator& hook_allocator() STRANDLINE_HOOK("_ZN3mlx4core9allocator9allocatorEv");
mx::allocator::Allocator& hook_allocator() {
  if (ReplacingAllocator* ours = replacement()) return *ours;
  static RecordingAllocator& allocator = *[] {
    count_call(Hook::allocator);
    real_allocator();
    return new RecordingAllocator;
  }();
  return allocator;
}

void hook_clear_cache() STRANDLINE_HOOK("_ZN3mlx4core11clear_cacheEv");
void hook_clear_cache() {
  if (ReplacingAllocator* ours = replacement()) return ours->clear_cache();
  then_follow_cache([] { mlx_functions().clear_cache(); });
}

std::size_t hook_set_cache_limit(std::size_t limit)
    STRANDLINE_HOOK("_ZN3mlx4core15set_cache_limitEm");
std::size_t hook_set_cache_limit(std::size_t limit) {
  if (ReplacingAllocator* ours = replacement()) return ours->set_cache_limit(limit);
  return then_follow_cache([&] { return mlx_functions().set_cache_limit(limit); });
}

std::size_t hook_set_memory_limit(std::size_t limit)
    STRANDLINE_HOOK("_ZN3mlx4core16set_memory_limitEm");
std::size_t hook_set_memory_limit(std::size_t limit) {
  if (ReplacingAllocator* ours = replacement()) return ours->set_memory_limit(limit);
  return then_follow_cache([&] { return mlx_functions().set_memory_limit(limit); });
}

}  // namespace strandline::mlx_adapter
