// SPDX-License-Identifier: Apache-2.0
// The program's private pools: which exist, how often each is used, which scopes are open.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "alloc/random/model.h"
#include "alloc/segments_random/operation.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/error.h"

namespace strandline::alloc::segments_random {

class PoolBook {
 public:
  explicit PoolBook(SegmentAllocator& allocator) : allocator_(allocator) {}

  /// The pool that serves a request now; none: the default one.
  [[nodiscard]] PoolId current() const {
    return scopes_.empty() ? PoolId{} : pools_[scopes_.back()]->id;
  }
  /// Requests to the default pool may end in another one, also in one that was released.
  [[nodiscard]] bool may_serve_others() const { return scopes_.empty() && has_reserve_; }
  /// Blocks may be larger than their size asks for.
  [[nodiscard]] bool may_not_cut() const {
    return std::ranges::any_of(pools_,
                               [](const auto& pool) { return pool && pool->options.no_split; });
  }
  /// Those that are in use: their idle memory is theirs.
  [[nodiscard]] std::vector<PoolId> held() const {
    std::vector<PoolId> ids;
    for (const auto& pool : pools_) {
      if (pool) ids.push_back(pool->id);
    }
    return ids;
  }

  /// DeviceError when the device refuses to wait for a pool's last uses; the pool is as it was, or
  /// released.
  void perform(const Operation& operation) {
    const std::size_t which = operation.slot % kPools;
    switch (operation.kind) {
      case Kind::pool_create:
        create(which, operation.extra);
        break;
      case Kind::pool_begin:
        begin(which);
        break;
      case Kind::pool_end:
        if (!scopes_.empty()) end(operation.slot % scopes_.size());
        break;
      case Kind::pool_release:
        release(which, operation.extra == 1);
        break;
      default:
        if (pools_[which]) allocator_.empty_pool(pools_[which]->id);
    }
    check_uses();
  }

  void end_all() {
    while (!scopes_.empty()) end(scopes_.size() - 1);
    for (std::size_t i = 0; i < kPools; ++i) release(i, i % 2 == 0);
  }

 private:
  struct Pool {
    PoolId id{};
    PrivatePoolOptions options{};
    std::uint64_t uses = 0;
  };

  void create(std::size_t which, std::uint32_t bits) {
    if (pools_[which]) return;
    const PrivatePoolOptions options{.use_on_oom = (bits & 1) != 0, .no_split = (bits & 2) != 0};
    has_reserve_ |= options.use_on_oom;
    pools_[which] = Pool{allocator_.create_pool(options), options, 1};
  }

  void begin(std::size_t which) {
    constexpr std::size_t kDeepest = 4;
    if (!pools_[which] || scopes_.size() == kDeepest) return;
    // PyTorch refuses a second entry, and then never releases the pool's memory (D-42).
    const bool is_inside = std::ranges::count(scopes_, which) != 0;
    if (is_inside && allocator_.decisions() == Decisions::pytorch) return;
    allocator_.begin_pool(pools_[which]->id);
    scopes_.push_back(which);
    ++pools_[which]->uses;
  }

  // The innermost scope of the pool that the scope at `index` is of.
  void end(std::size_t index) {
    const std::size_t which = scopes_[index];
    allocator_.end_pool(pools_[which]->id);
    --pools_[which]->uses;
    const auto innermost = std::find(scopes_.rbegin(), scopes_.rend(), which);
    scopes_.erase(std::next(innermost).base());
  }

  void release(std::size_t which, bool destroy) {
    if (!pools_[which] || std::ranges::count(scopes_, which) != 0) return;
    const PoolId id = pools_[which]->id;
    pools_[which].reset();
    destroy ? allocator_.destroy_pool(id) : allocator_.release_pool(id);
  }

  void check_uses() const {
    for (const auto& pool : pools_) {
      if (pool) random::must_equal(allocator_.pool_uses(pool->id), pool->uses, "uses of a pool");
    }
  }

  SegmentAllocator& allocator_;
  std::array<std::optional<Pool>, kPools> pools_;
  std::vector<std::size_t> scopes_;  // the last one is innermost
  bool has_reserve_ = false;         // there was one that serves everybody
};

}  // namespace strandline::alloc::segments_random
