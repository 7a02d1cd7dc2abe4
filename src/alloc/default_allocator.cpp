// SPDX-License-Identifier: Apache-2.0
// The defaults by device. What is replaced is kept, since another thread may be about to use it;
// its cache goes. Nothing here is destroyed at exit, when buffers may still be out.
#include "strandline/alloc/default_allocator.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "strandline/alloc/host_allocator.h"
#include "strandline/core/error.h"
#include "strandline/core/mutex.h"
#include "strandline/core/without_fork.h"
#include "strandline/device/host.h"

namespace strandline::alloc {
namespace {

struct Registry {
  Mutex mutex;
  std::map<const device::Device*, std::shared_ptr<Allocator>> defaults STRANDLINE_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<Allocator>> kept STRANDLINE_GUARDED_BY(mutex);  // all there ever were
};

Registry& registry() noexcept {
  static Registry& instance = *new Registry;
  return instance;
}
// Made with the library: a child of a fork never waits for a thread that was making it.
[[maybe_unused]] const Registry& g_registry = registry();

}  // namespace

device::Device& host_device() {
  static constinit std::atomic<device::Device*> known{nullptr};
  if (device::Device* device = known.load(std::memory_order_acquire)) return *device;
  const WithoutFork stay;
  static device::Device& device = *device::make_host_device().release();
  known.store(&device, std::memory_order_release);
  return device;
}

Allocator& default_allocator() {
  const device::Device& device = host_device();
  Registry& all = registry();
  {
    const LockGuard guard(all.mutex);
    if (const auto found = all.defaults.find(&device); found != all.defaults.end()) {
      return *found->second;
    }
  }
  auto fresh = std::make_shared<HostAllocator>(host_device());
  const LockGuard guard(all.mutex);
  return *all.defaults.try_emplace(&device, std::move(fresh)).first->second;
}

Allocator& default_allocator(const device::Device& device) {
  if (&device == &host_device()) return default_allocator();
  Registry& all = registry();
  const LockGuard guard(all.mutex);
  const auto found = all.defaults.find(&device);
  if (found == all.defaults.end()) {
    throw InvalidArgument(error_message("default_allocator", "device", device.facts().name,
                                        "one with a default, see set_default_allocator"));
  }
  return *found->second;
}

std::shared_ptr<Allocator> set_default_allocator(std::shared_ptr<Allocator> allocator) {
  if (allocator == nullptr) {
    throw InvalidArgument(
        error_message("set_default_allocator", "allocator", "null", "an allocator"));
  }
  const device::Device& device = allocator->device();
  if (&device == &host_device()) (void)default_allocator();  // so that there is one before
  std::shared_ptr<Allocator> previous;
  {
    Registry& all = registry();
    const LockGuard guard(all.mutex);
    all.kept.reserve(all.kept.size() + 1);
    std::shared_ptr<Allocator>& place = all.defaults[&device];
    previous = std::exchange(place, std::move(allocator));
    if (previous != nullptr && previous != place) all.kept.push_back(previous);
  }
  if (previous != nullptr) previous->empty_cache();
  return previous;
}

std::shared_ptr<Allocator> reset_default_allocator(const device::Device& device) {
  std::vector<std::shared_ptr<Allocator>> ended;  // all that follows is done without the lock
  std::shared_ptr<Allocator> previous;
  {
    Registry& all = registry();
    const LockGuard guard(all.mutex);
    if (const auto found = all.defaults.find(&device); found != all.defaults.end()) {
      previous = std::move(found->second);
      all.defaults.erase(found);
    }
    if (&device == &host_device()) {
      if (previous != nullptr) all.kept.push_back(previous);
      ended = all.kept;
    } else {
      const auto of_device = std::stable_partition(
          all.kept.begin(), all.kept.end(),
          [&](const std::shared_ptr<Allocator>& one) { return &one->device() != &device; });
      ended.assign(std::make_move_iterator(of_device), std::make_move_iterator(all.kept.end()));
      all.kept.erase(of_device, all.kept.end());
    }
  }
  for (const std::shared_ptr<Allocator>& one : ended) one->empty_cache();
  if (previous != nullptr) previous->empty_cache();
  return previous;
}

}  // namespace strandline::alloc
