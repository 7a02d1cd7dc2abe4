// SPDX-License-Identifier: Apache-2.0
// A map from addresses to small values, split into shards with a lock each. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "strandline/core/flat_map.h"
#include "strandline/core/mutex.h"

namespace strandline::mlx_adapter {

template <typename Value>
class ShardedMap {
 public:
  /// Runs `use(Value&)` on the entry, made when absent.
  template <typename Use>
  void with(const void* key, Use&& use) {
    Shard& shard = shard_of(key);
    const LockGuard guard(shard.mutex);
    const std::size_t before = shard.map.size();
    use(shard.map[number(key)]);
    if (shard.map.size() != before) size_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Runs `use(Value&)` on the entry if there is one; it is erased when `use` returns true.
  template <typename Use>
  bool with_known(const void* key, Use&& use) {
    if (empty()) return false;
    Shard& shard = shard_of(key);
    const LockGuard guard(shard.mutex);
    Value* value = shard.map.find(number(key));
    if (value == nullptr) return false;
    if (use(*value)) {
      shard.map.erase(number(key));
      size_.fetch_sub(1, std::memory_order_relaxed);
    }
    return true;
  }

  bool find(const void* key, Value& out) {
    return with_known(key, [&](const Value& value) {
      out = value;
      return false;
    });
  }

  bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }

 private:
  static constexpr std::size_t kShards = 16;
  struct alignas(64) Shard {
    Mutex mutex;
    FlatMap<Value> map STRANDLINE_GUARDED_BY(mutex);
  };

  static std::uint64_t number(const void* key) noexcept {
    return reinterpret_cast<std::uint64_t>(key);
  }
  Shard& shard_of(const void* key) noexcept {
    return shards_[(mix_bits(number(key)) >> 48) % kShards];
  }

  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace strandline::mlx_adapter
