// SPDX-License-Identifier: Apache-2.0
// The tables ids point into. Each is capped in bytes; past the cap an id becomes "none" and is
// counted. `clear` empties all of them; ids given before read as "none" from then on.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"
#include "strandline/core/mutex.h"
#include "strandline/core/string_table.h"
#include "strandline/record/layout.h"
#include "strandline/record/traceback.h"

namespace strandline::record {

/// Interns pairs of 64-bit numbers: stream handles (handle, 0) and pool ids. Never emptied.
template <typename IdType>
class HandleTable {
 public:
  IdType intern(std::uint64_t first, std::uint64_t second = 0) {
    const LockGuard guard(mutex_);
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (handles_[i] == std::pair(first, second)) return number(i);
    }
    if (handles_.size() >= kMaxHandles) {
      ++refused_;
      return {};
    }
    handles_.emplace_back(first, second);
    return number(handles_.size() - 1);
  }

  /// (0, 0) for none.
  std::pair<std::uint64_t, std::uint64_t> handle(IdType id) const {
    const LockGuard guard(mutex_);
    if (!id || id.value > handles_.size()) return {};
    return handles_[id.value - 1];
  }

  std::uint64_t refused() const {
    const LockGuard guard(mutex_);
    return refused_;
  }
  /// Held around a fork, so that the child gets a whole table and a free lock.
  void lock_for_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.lock(); }
  void unlock_after_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.unlock(); }

 private:
  static constexpr std::size_t kMaxHandles = 4096;
  static IdType number(std::size_t index) { return IdType{static_cast<std::uint32_t>(index + 1)}; }

  mutable Mutex mutex_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> handles_ STRANDLINE_GUARDED_BY(mutex_);
  std::uint64_t refused_ STRANDLINE_GUARDED_BY(mutex_) = 0;
};

struct Tables {
  static constexpr std::uint64_t kTextCapBytes = 64ULL << 20;
  static constexpr std::uint64_t kTracebackCapBytes = 512ULL << 20;

  TracebackTable tracebacks{kTracebackCapBytes};
  NameTable<OpId> ops{kTextCapBytes};
  NameTable<LabelId> labels{kTextCapBytes};
  NameTable<OwnerId> owners{kTextCapBytes};
  LayoutTable layouts{kTextCapBytes};
  HandleTable<StreamId> streams;
  HandleTable<PoolId> pools;

  /// Grows with every `clear`; whoever keeps ids of its own compares it.
  std::atomic<std::uint32_t> generation{0};

  std::uint64_t memory_bytes() const {
    return tracebacks.memory_bytes() + ops.memory_bytes() + labels.memory_bytes() +
           owners.memory_bytes() + layouts.memory_bytes();
  }
  std::uint64_t refused() const {
    return tracebacks.refused() + ops.refused() + labels.refused() + owners.refused() +
           layouts.refused() + streams.refused() + pools.refused();
  }
  template <typename Visit>
  void for_each(Visit&& visit) {
    visit(tracebacks);
    visit(ops);
    visit(labels);
    visit(owners);
    visit(layouts);
    visit(streams);
    visit(pools);
  }
  void clear() {
    tracebacks.clear();
    ops.clear();
    labels.clear();
    owners.clear();
    layouts.clear();
    // Last: who read the old generation and interned before the clear must find it changed.
    generation.fetch_add(1, std::memory_order_release);
  }
};

}  // namespace strandline::record
