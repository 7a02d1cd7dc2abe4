// SPDX-License-Identifier: Apache-2.0
// One lock for all graphs: calls are taken from arrays, arrays get their memory, and evaluations
// are planned and encoded under it. So threads may evaluate, wait for, read, draw and differentiate
// arrays that share parts. Making nodes takes no lock, nor does dropping arrays, nor reading one
// that is available.
//
//   under the lock   Descriptor::call, position, completion, record; Call::outputs;
//                    data and layout of an array that is unscheduled
//   without          Descriptor::status, which is atomic; all else of an array that is evaluated
//
// A thread never waits for a device, nor for this lock, while it holds this lock or what the hook
// names (a BlockingScope lets go of both): what it finds afterwards is as others left it.
// The lock is re-entrant: primitives run under it, and they, and deleters, may evaluate.
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>

#include "strandline/core/export.h"
#include "strandline/core/mutex.h"

namespace strandline::array {

class STRANDLINE_API STRANDLINE_CAPABILITY("mutex") GraphLock {
 public:
  constexpr GraphLock() = default;
  GraphLock(const GraphLock&) = delete;
  GraphLock& operator=(const GraphLock&) = delete;

  void lock() noexcept STRANDLINE_ACQUIRE();
  void unlock() noexcept STRANDLINE_RELEASE();
  /// Lets go of it until some thread says that it has changed what others wait for.
  void wait_for_change() noexcept STRANDLINE_REQUIRES(this);
  void note_change() noexcept STRANDLINE_REQUIRES(this);
  /// Does nothing: says to the analysis that the caller holds it.
  void assert_held() const noexcept STRANDLINE_ASSERTS_HELD {}

 private:
  friend class BlockingScope;
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == pthread_self(); }
  /// Returns how often this thread had it, 0 when it had not.
  std::uint32_t let_go() noexcept;
  void take_back(std::uint32_t depth) noexcept;

  Mutex mutex_;
  std::atomic<pthread_t> owner_{};
  std::uint32_t depth_ = 0;    // how often the owner has it
  std::uint32_t waiting_ = 0;  // for a change
  std::atomic<std::uint32_t> changes_{0};
};

namespace detail {
STRANDLINE_API extern GraphLock the_graph_lock;
}

/// The process's.
inline GraphLock& graph_lock() noexcept {
  return detail::the_graph_lock;
}

class STRANDLINE_SCOPED_CAPABILITY GraphGuard {
 public:
  GraphGuard() noexcept STRANDLINE_ACQUIRE(graph_lock()) { graph_lock().lock(); }
  ~GraphGuard() STRANDLINE_RELEASE() { graph_lock().unlock(); }
  GraphGuard(const GraphGuard&) = delete;
  GraphGuard& operator=(const GraphGuard&) = delete;
};

/// From now on a fork waits for what other threads do under the lock, so that the child has graphs
/// whole and the lock free. Once for the process.
void keep_graphs_whole_in_forks();

/// What else a thread must not hold while it blocks: the lock of an interpreter whose threads use
/// arrays. `let_go` returns what `take_back` needs, null when this thread did not hold it.
struct BlockingHook {
  void* (*let_go)() noexcept = nullptr;
  void (*take_back)(void*) noexcept = nullptr;
};
/// One for the process; set before threads use arrays.
STRANDLINE_API void set_blocking_hook(const BlockingHook& hook) noexcept;

/// This thread is about to block: until the end of the scope it holds neither the graph nor what
/// the hook names.
class STRANDLINE_API BlockingScope {
 public:
  BlockingScope() noexcept;
  ~BlockingScope();
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

 private:
  std::uint32_t depth_;
  void* held_;
};

}  // namespace strandline::array
