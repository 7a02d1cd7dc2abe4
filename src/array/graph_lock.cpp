// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/graph_lock.h"

#include <utility>

#include <pthread.h>

#include "strandline/record/recorder.h"

namespace strandline::array {
namespace {

constinit std::atomic<void* (*)() noexcept> g_let_go{nullptr};
constinit std::atomic<void (*)(void*) noexcept> g_take_back{nullptr};

void* let_go_of_hooked() noexcept {
  auto* const let_go = g_let_go.load(std::memory_order_acquire);
  return let_go == nullptr ? nullptr : let_go();
}

void take_back_hooked(void* held) noexcept {
  if (held != nullptr) g_take_back.load(std::memory_order_acquire)(held);
}

}  // namespace

void GraphLock::lock() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
  if (is_mine()) {
    ++depth_;
    return;
  }
  if (!mutex_.try_lock()) {
    void* const held = let_go_of_hooked();
    mutex_.lock();
    // Nobody who holds what the hook names waits for the graph, so this ends.
    take_back_hooked(held);
  }
  owner_.store(pthread_self(), std::memory_order_relaxed);
  depth_ = 1;
}

void GraphLock::unlock() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
  if (--depth_ > 0) return;
  owner_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
}

void GraphLock::wait_for_change() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
  void* const held = let_go_of_hooked();
  const std::uint32_t depth = std::exchange(depth_, 0);
  owner_.store({}, std::memory_order_relaxed);
  const std::uint32_t seen = changes_.load(std::memory_order_relaxed);
  ++waiting_;
  mutex_.unlock();
  changes_.wait(seen, std::memory_order_relaxed);
  mutex_.lock();
  --waiting_;
  owner_.store(pthread_self(), std::memory_order_relaxed);
  depth_ = depth;
  take_back_hooked(held);
}

void GraphLock::note_change() noexcept {
  if (waiting_ == 0) return;
  changes_.fetch_add(1, std::memory_order_relaxed);
  changes_.notify_all();
}

std::uint32_t GraphLock::let_go() noexcept STRANDLINE_NO_LOCK_ANALYSIS {
  if (!is_mine()) return 0;
  const std::uint32_t depth = std::exchange(depth_, 0);
  owner_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
  return depth;
}

void GraphLock::take_back(std::uint32_t depth) noexcept STRANDLINE_NO_LOCK_ANALYSIS {
  if (depth == 0) return;
  lock();
  depth_ = depth;
}

namespace detail {
constinit GraphLock the_graph_lock;
}

namespace {

void close_graphs() STRANDLINE_NO_LOCK_ANALYSIS {
  graph_lock().lock();
}

void open_graphs() STRANDLINE_NO_LOCK_ANALYSIS {
  graph_lock().unlock();
}

}  // namespace

void keep_graphs_whole_in_forks() {
  // The recorder's handler takes the locks of allocators, which come after the graph's: handlers
  // that were registered last run first.
  static const bool is_registered =
      (record::recorder(), pthread_atfork(&close_graphs, &open_graphs, &open_graphs) == 0);
  static_cast<void>(is_registered);
}

void set_blocking_hook(const BlockingHook& hook) noexcept {
  g_take_back.store(hook.take_back, std::memory_order_release);
  g_let_go.store(hook.let_go, std::memory_order_release);
}

BlockingScope::BlockingScope() noexcept
    : depth_(graph_lock().let_go()), held_(let_go_of_hooked()) {}

BlockingScope::~BlockingScope() {
  take_back_hooked(held_);
  graph_lock().take_back(depth_);
}

}  // namespace strandline::array
