// SPDX-License-Identifier: Apache-2.0
// Routing scopes: which private pool a request goes to. The scope begun last decides among those
// whose filter takes the request. Filters are foreign code: they are asked without any lock, on a
// list that never changes; beginning and ending a scope make a new one.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/mutex.h"

namespace strandline::alloc {

class Routes {
 public:
  /// The pool for a request of this thread on `stream`; none: the default pool.
  PoolId route(StreamId stream) const STRANDLINE_EXCLUDES(mutex_);

  /// Whether a scope of the pool is open.
  bool has(PoolId pool) const STRANDLINE_EXCLUDES(mutex_);
  void begin(PoolId pool, ScopeFilter filter) STRANDLINE_EXCLUDES(mutex_);
  /// The innermost scope of the pool that this thread began, else the innermost of any; false where
  /// there is none. bad_alloc leaves everything as it was.
  bool end(PoolId pool) STRANDLINE_EXCLUDES(mutex_);
  bool empty() const STRANDLINE_EXCLUDES(mutex_);

 private:
  struct Scope {
    PoolId pool;
    std::thread::id thread;
    ScopeFilter filter;
  };
  using Scopes = std::vector<Scope>;

  std::shared_ptr<const Scopes> scopes() const STRANDLINE_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::shared_ptr<const Scopes> scopes_ STRANDLINE_GUARDED_BY(mutex_) =
      std::make_shared<const Scopes>();
};

}  // namespace strandline::alloc
