// SPDX-License-Identifier: Apache-2.0
// A mirror of the cache of MLX's built-in allocator: which buffers it keeps for reuse, and in which
// order they were freed. MLX tells only the cache's total; the mirror replays its rule and is held
// against that total. Not synchronised: the adapter's allocator lock guards it.
//
//   Σ size over the mirror = mx::get_cache_memory()
//
// Buffers come and go with every operation, and leave the cache for the system hardly ever: the
// order is kept as a number in each, and only sorted when it is asked for. A buffer that was handed
// out stays listed, until there are more of them than cached ones and than kMostHandedOut.
#pragma once

#include <cstdint>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"

namespace strandline::mlx_adapter {

struct CachedBuffer {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

class CachedBuffers {
 public:
  std::uint64_t total() const noexcept { return total_; }

  /// The buffer has been freed to the cache.
  STRANDLINE_ALWAYS_INLINE void put(std::uint64_t address, std::uint64_t size) {
    const auto [listed, is_new] = by_address_.insert(address);
    if (listed->order != 0) [[unlikely]] {
      take_listed(*listed);
    }
    *listed = {.size = size, .order = ++order_};
    total_ += size;
    ++count_;
    if (is_new && by_address_.size() > 2 * count_ + kMostHandedOut) [[unlikely]] {
      forget_handed_out();
    }
  }
  /// The buffer has been handed out again; false when it was not in the mirror.
  STRANDLINE_ALWAYS_INLINE bool take(std::uint64_t address) noexcept {
    Listed* const listed = by_address_.find(address);
    if (listed == nullptr || listed->order == 0) return false;
    take_listed(*listed);
    return true;
  }
  /// The cache shrank to `total`: forgets what MLX evicted for that, all of it if that is at least
  /// nine tenths of the cache, else least recently freed first. `evicted` gets them in order.
  void shrink_to(std::uint64_t total, std::vector<CachedBuffer>& evicted);
  /// Least recently freed first.
  std::vector<CachedBuffer> buffers() const;

 private:
  static constexpr std::size_t kMostHandedOut = 1024;
  struct Listed {
    std::uint64_t size = 0;
    std::uint64_t order = 0;  // of its free; 0: handed out
  };
  void take_listed(Listed& listed) noexcept {
    listed.order = 0;
    total_ -= listed.size;
    --count_;
  }
  void forget_handed_out();

  FlatMap<Listed> by_address_;
  std::uint64_t order_ = 0;
  std::size_t count_ = 0;  // cached
  std::uint64_t total_ = 0;
};

}  // namespace strandline::mlx_adapter
