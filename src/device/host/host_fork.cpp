// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_fork.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <vector>

#include <pthread.h>

#include "device/host/host_streams.h"

namespace strandline::device {
namespace {

struct Registry {
  Mutex mutex;
  std::vector<HostStreams*> all;
};
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

// What threads that the child lacks have left in it, a wait among them, keeps the old one from
// being destroyed.
template <typename T>
void replace_undestroyed(T& old) {
  new (&old) T();
}

}  // namespace

// Handlers that were registered last run first: a thread that makes a host device in a stretch of
// WithoutFork is through when the locks here are taken.
void HostForks::register_handlers() noexcept {
  pthread_atfork(&lock_all, &unlock_all, &restart_all);
}

namespace {

constexpr int kBeforeStatics = 200;
[[gnu::constructor(kBeforeStatics)]] void register_with_library() {
  HostForks::register_handlers();
}

}  // namespace

void HostForks::add(HostStreams& streams) {
  Registry& known = registry();
  const LockGuard lock(known.mutex);
  known.all.push_back(&streams);
}

void HostForks::remove(HostStreams& streams) noexcept {
  Registry& known = registry();
  const LockGuard lock(known.mutex);
  std::erase(known.all, &streams);
}

void HostForks::lock_all() {
  registry().mutex.lock();
  for (const HostStreams* streams : registry().all) streams->state_.mutex.lock();
}

void HostForks::unlock_all() {
  for (const HostStreams* streams : registry().all) streams->state_.mutex.unlock();
  registry().mutex.unlock();
}

void HostForks::restart_all() {
  for (HostStreams* streams : registry().all) streams->restart_in_child();
  unlock_all();
}

void HostStreams::restart_in_child() {
  replace_undestroyed(done_);
  for (auto& [id, stream] : streams_) {
    replace_undestroyed(stream->wake);
    if (!stream->worker.joinable()) continue;
    replace_undestroyed(stream->worker);
    if (stream->is_running) {
      // Half done, by a thread that is not here.
      note_error(*stream, std::make_shared<AsyncError>(error_message(
                              "wait", "work of stream " + std::to_string(id.value),
                              "a fork of the process while it ran", "a fork when it has run")));
      stream->is_running = false;
      ++stream->completed;
    }
    if (stream->queue.empty()) continue;
    try {
      start_worker(*stream);
    } catch (const std::system_error&) {  // the next operation tries again, and says so
    }
  }
}

}  // namespace strandline::device
