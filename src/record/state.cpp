// SPDX-License-Identifier: Apache-2.0
// The registry of state providers. Its own lock is held for the whole of a cut, so that the set of
// providers cannot change between locking and unlocking them.
#include "strandline/record/state.h"

#include <algorithm>
#include <mutex>

#include "fork.h"
#include "strandline/core/error.h"

namespace strandline::record {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<StateProvider*> providers;
};

Registry& registry() noexcept {
  static Registry& instance = *new Registry;
  return instance;
}

}  // namespace

void register_state_provider(StateProvider* provider) {
  if (provider == nullptr) {
    throw InvalidArgument(
        error_message("register_state_provider", "state provider", "null", "a provider"));
  }
  const std::lock_guard<std::mutex> guard(registry().mutex);
  registry().providers.push_back(provider);
}

void unregister_state_provider(StateProvider* provider) noexcept {
  const std::lock_guard<std::mutex> guard(registry().mutex);
  std::erase(registry().providers, provider);
}

// Their locks too: the child goes on with the allocators, also where another thread was in one.
void lock_providers_for_fork() noexcept {
  registry().mutex.lock();
  for (StateProvider* provider : registry().providers) provider->lock_state();
}
void unlock_providers_after_fork() noexcept {
  std::vector<StateProvider*>& providers = registry().providers;
  for (auto provider = providers.rbegin(); provider != providers.rend(); ++provider) {
    (*provider)->unlock_state();
  }
  registry().mutex.unlock();
}

ProvidersLock::ProvidersLock() {
  registry().mutex.lock();
  try {
    locked_.reserve(registry().providers.size());
    for (StateProvider* provider : registry().providers) {
      provider->lock_state();
      locked_.push_back(provider);
    }
  } catch (...) {
    for (StateProvider* provider : locked_) provider->unlock_state();
    registry().mutex.unlock();
    throw;
  }
}

ProvidersLock::~ProvidersLock() {
  for (auto provider = locked_.rbegin(); provider != locked_.rend(); ++provider) {
    (*provider)->unlock_state();
  }
  registry().mutex.unlock();
}

void ProvidersLock::collect(std::vector<SegmentState>& segments) const {
  for (const StateProvider* provider : locked_) provider->collect_segments(segments);
}

void ProvidersLock::begin_recording(InitialState& state) const {
  for (StateProvider* provider : locked_) provider->begin_recording(state);
}

}  // namespace strandline::record
