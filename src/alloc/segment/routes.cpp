// SPDX-License-Identifier: Apache-2.0
// The list of scopes, copied when it changes.
#include "alloc/segment/routes.h"

#include <algorithm>
#include <utility>

#include "alloc/faults.h"

namespace strandline::alloc {

std::shared_ptr<const Routes::Scopes> Routes::scopes() const {
  const LockGuard guard(mutex_);
  return scopes_;
}

PoolId Routes::route(StreamId stream) const {
  const std::shared_ptr<const Scopes> now = scopes();
  const std::thread::id me = std::this_thread::get_id();
  PoolId pool;
  for (auto scope = now->rbegin(); scope != now->rend(); ++scope) {
    const bool takes = scope->filter ? scope->filter(stream) : scope->thread == me;
    if (!takes) continue;
    pool = scope->pool;
    if (!is_on(Fault::D22_the_first_scope_decides)) break;
  }
  return pool;
}

bool Routes::has(PoolId pool) const {
  const std::shared_ptr<const Scopes> now = scopes();
  return std::any_of(now->begin(), now->end(),
                     [pool](const Scope& scope) { return scope.pool == pool; });
}

void Routes::begin(PoolId pool, ScopeFilter filter) {
  const LockGuard guard(mutex_);
  auto next = std::make_shared<Scopes>(*scopes_);
  next->push_back({pool, std::this_thread::get_id(), std::move(filter)});
  scopes_ = std::move(next);
}

bool Routes::end(PoolId pool) {
  const LockGuard guard(mutex_);
  const std::thread::id me = std::this_thread::get_id();
  const Scopes& now = *scopes_;
  const auto innermost = [&now](auto&& takes) {
    const auto found = std::find_if(now.rbegin(), now.rend(), takes);
    return now.rend() - found;  // one past its index; 0: none
  };
  auto place = innermost([&](const Scope& s) { return s.pool == pool && s.thread == me; });
  if (place == 0) place = innermost([&](const Scope& s) { return s.pool == pool; });
  if (place == 0) return false;
  auto next = std::make_shared<Scopes>(*scopes_);
  next->erase(next->begin() + (place - 1));
  scopes_ = std::move(next);
  return true;
}

bool Routes::empty() const {
  return scopes()->empty();
}

}  // namespace strandline::alloc
