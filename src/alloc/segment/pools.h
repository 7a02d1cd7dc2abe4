// SPDX-License-Identifier: Apache-2.0
// Segments by whom they serve: a pool has a half for small and one for large blocks, a half has an
// index of free blocks for each stream. There is one default pool, and any number of private ones.
// Not synchronised.
//
//   invariants  a segment is in the list of one half; its blocks that are free are in the index of
//               its stream in that half; a private pool lives while it has uses or segments
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "alloc/faults.h"
#include "alloc/segment/accounts.h"
#include "alloc/segment/best_fit.h"
#include "alloc/segment/segment_block.h"
#include "alloc/segment/visit_order.h"
#include "strandline/alloc/segment_allocator.h"

namespace strandline::alloc {

struct HalfPool;
struct PrivatePool;

/// The free blocks of one stream in one half.
struct StreamIndex {
  StreamId stream;
  HalfPool* half = nullptr;
  BestFit fit;

  explicit StreamIndex(Ties ties) : fit(ties) {}
};

/// A span obtained from the device.
struct Segment {
  Block* region = nullptr;        ///< its record among all that is reserved
  SegmentBlock* first = nullptr;  ///< of its blocks; the same record for all its life
  StreamIndex* index = nullptr;
  Segment* previous = nullptr;  ///< in the half's list, older ones first
  Segment* next = nullptr;
  std::uint32_t order = 0;
  bool is_leaving = false;   ///< on its way back to the device: its block is in no index
  bool is_oversize = false;  ///< counted as such

  /// No byte of it is active: it could go.
  bool is_idle() const noexcept {
    return first->next == nullptr && first->use == BlockUse::kept && !is_leaving;
  }
};

struct HalfPool {
  explicit HalfPool(Accounts::Pool half) : kind(half) {}

  const Accounts::Pool kind;
  PrivatePool* owner = nullptr;                       ///< null: the default pool
  std::uint64_t searches = 0;                         ///< counted while garbage is collected
  std::vector<std::unique_ptr<StreamIndex>> indexes;  ///< by stream
  std::array<StreamIndex*, 8> found = {};             ///< last, by low bits of the stream
  Segment* oldest = nullptr;
  Segment* newest = nullptr;

  bool is_small() const noexcept { return kind == Accounts::small; }
  StreamIndex* find(StreamId stream) noexcept {
    StreamIndex* index = found[stream.value % found.size()];
    if (index != nullptr && index->stream == stream) [[likely]] {
      return index;
    }
    if (is_on(Fault::C05_streams_share_free_blocks) && !indexes.empty()) return indexes[0].get();
    return find_other(stream);
  }
  /// Made where there is none; bad_alloc leaves everything as it was.
  StreamIndex& index_of(StreamId stream, Ties ties);
  void link(Segment& segment) noexcept;
  void unlink(Segment& segment) noexcept;

 private:
  StreamIndex* find_other(StreamId stream) noexcept;
};

struct PoolHalves {
  HalfPool small{Accounts::small};
  HalfPool large{Accounts::large};

  HalfPool& half(bool is_small) noexcept { return is_small ? small : large; }
};

struct PrivatePool {
  PoolId id;
  PrivatePoolOptions options;
  PoolHalves halves;
  std::uint64_t uses = 0;
  std::uint64_t segments = 0;
  /// Of Count::reserved_bytes alone; in Pools, since PyTorch's outlives the pool.
  Accounts& reserved;

  explicit PrivatePool(Accounts& accounts) : reserved(accounts) {}

  bool has_ended() const noexcept { return uses == 0; }
};

class Pools {
 public:
  Pools() = default;
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;

  PoolHalves& default_pool() noexcept { return default_; }
  /// Null for an id that none has, or had.
  PrivatePool* find(PoolId id) noexcept;
  PrivatePool& add(PoolId id, const PrivatePoolOptions& options);
  /// Forgets pools that have ended and hold nothing, and what they had reserved unless it is kept.
  void drop_ended(bool keeps_reserved) noexcept;
  /// One use less; bad_alloc changes nothing. A pool without uses serves others no more and splits
  /// what it has.
  void end_use(PrivatePool& pool);
  /// It serves others no more, whatever its uses.
  void end_reserve(PrivatePool& pool) noexcept;
  /// Those that have ended, in the order they are visited; bad_alloc.
  std::vector<PrivatePool*> ended();
  /// Those that serve others when there is nothing else, likewise.
  std::vector<PrivatePool*> reserves();
  /// Visits pools as PyTorch does, else by id.
  void follow_visit_order() noexcept { follows_visit_order_ = true; }
  /// By id, which is the order they were made in.
  std::map<PoolId, std::unique_ptr<PrivatePool>>& all() noexcept { return private_; }
  const std::map<PoolId, std::unique_ptr<PrivatePool>>& all() const noexcept { return private_; }
  /// What each pool has reserved, also of those that are gone where these are kept.
  std::map<PoolId, Accounts>& reserved() noexcept { return reserved_; }
  const std::map<PoolId, Accounts>& reserved() const noexcept { return reserved_; }

  /// Every half: the default pool's, then those of private ones.
  template <typename Visit>
  void for_each_half(Visit&& visit) {
    visit(default_.large);
    visit(default_.small);
    for (auto& [id, pool] : private_) {
      visit(pool->halves.small);
      visit(pool->halves.large);
    }
  }

 private:
  PoolHalves default_;
  template <typename Take>
  std::vector<PrivatePool*> in_order(const VisitOrder& order, Take&& take);

  bool follows_visit_order_ = false;
  VisitOrder ended_{VisitOrder::pool_hash};
  VisitOrder reserves_{VisitOrder::pool_hash};
  std::map<PoolId, Accounts> reserved_;
  std::map<PoolId, std::unique_ptr<PrivatePool>> private_;
};

}  // namespace strandline::alloc
