// SPDX-License-Identifier: Apache-2.0
// The functions that a SegmentAllocator calls: foreign code, so always without a lock, on a list
// that never changes; adding and removing make a new one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/mutex.h"

namespace strandline::alloc {

class Callbacks {
 public:
  CallbackId add(FreeMemoryCallback callback) { return add_one(std::move(callback)); }
  CallbackId add(OutOfMemoryObserver observer) { return add_one(std::move(observer)); }
  CallbackId add(TraceTracker tracker) { return add_one(std::move(tracker)); }
  void remove(CallbackId id) STRANDLINE_EXCLUDES(mutex_) {
    const LockGuard guard(mutex_);
    auto next = std::make_shared<List>(*list_);
    std::erase_if(*next, [id](const One& one) { return one.first == id; });
    list_ = std::move(next);
  }

  /// Those of one kind, in the order they were added.
  template <typename Function, typename Visit>
  void for_each(Visit&& visit) const STRANDLINE_EXCLUDES(mutex_) {
    const std::shared_ptr<const List> now = list();
    for (const One& one : *now) {
      if (const auto* function = std::get_if<Function>(&one.second)) visit(*function);
    }
  }
  template <typename Function>
  bool has() const STRANDLINE_EXCLUDES(mutex_) {
    bool found = false;
    for_each<Function>([&](const Function&) { found = true; });
    return found;
  }

 private:
  using Any = std::variant<FreeMemoryCallback, OutOfMemoryObserver, TraceTracker>;
  using One = std::pair<CallbackId, Any>;
  using List = std::vector<One>;

  std::shared_ptr<const List> list() const STRANDLINE_EXCLUDES(mutex_) {
    const LockGuard guard(mutex_);
    return list_;
  }
  CallbackId add_one(Any function) STRANDLINE_EXCLUDES(mutex_) {
    const LockGuard guard(mutex_);
    const CallbackId id{++last_};
    auto next = std::make_shared<List>(*list_);
    next->emplace_back(id, std::move(function));
    list_ = std::move(next);
    return id;
  }

  mutable Mutex mutex_;
  std::shared_ptr<const List> list_ STRANDLINE_GUARDED_BY(mutex_) = std::make_shared<const List>();
  std::uint64_t last_ STRANDLINE_GUARDED_BY(mutex_) = 0;
};

}  // namespace strandline::alloc
