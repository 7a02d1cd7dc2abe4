// SPDX-License-Identifier: Apache-2.0
// A mirror of the cache of MLX's built-in allocator: which buffers it keeps for reuse, least
// recently freed first. MLX tells only the cache's total; the mirror replays its rule and is held
// against that total. Not synchronised: the adapter's allocator lock guards it.
//
//   Σ size over the mirror = mx::get_cache_memory()
#pragma once

#include <cstdint>
#include <vector>

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
  void put(std::uint64_t address, std::uint64_t size);
  /// The buffer has been handed out again; false when it was not in the mirror.
  bool take(std::uint64_t address) noexcept;
  /// The cache shrank to `total`: forgets what MLX evicted for that, all of it if that is at least
  /// nine tenths of the cache, else least recently freed first. `evicted` gets them in order.
  void shrink_to(std::uint64_t total, std::vector<CachedBuffer>& evicted);
  /// Least recently freed first.
  std::vector<CachedBuffer> buffers() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  struct Node {
    CachedBuffer buffer;
    Index older = kNone;
    Index newer = kNone;
  };
  /// Of a node whose address is not listed any more.
  void unlink(Index at) noexcept;

  FlatMap<Index> by_address_;
  std::vector<Node> nodes_;
  std::vector<Index> free_nodes_;
  Index oldest_ = kNone;
  Index newest_ = kNone;
  std::uint64_t total_ = 0;
};

}  // namespace strandline::mlx_adapter
