// SPDX-License-Identifier: Apache-2.0
// Caches of one thread: ids of the layouts and names it has met last, and places for the tasks that
// it hands to streams. A thread that ends leaves them to the next one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "mlx_api.h"
#include "strandline/record/recorder.h"
#include "thread_work.h"

namespace strandline::mlx_adapter {

/// Ids by shape and dtype. One that is of an older generation of the tables is not found.
class RecentLayouts {
 public:
  LayoutId find(const mx::Shape& shape, mx::Dtype dtype, std::uint32_t generation) noexcept {
    return is_of(*last_, shape, dtype, generation) ? last_->id : search(shape, dtype, generation);
  }
  void keep(const mx::Shape& shape, mx::Dtype dtype, std::uint32_t generation,
            LayoutId id) noexcept;

 private:
  static constexpr std::size_t kEntries = 64;
  static constexpr std::size_t kMaxRank = 6;  // others are asked for each time
  struct Entry {
    LayoutId id{};
    std::uint32_t generation = 0;
    std::uint32_t rank_and_dtype = 0;
    std::array<mx::ShapeElem, kMaxRank> extents{};
  };
  static std::uint32_t rank_and_dtype(const mx::Shape& shape, mx::Dtype dtype) noexcept {
    return static_cast<std::uint32_t>(shape.size() << 8) | static_cast<std::uint32_t>(dtype.val());
  }
  // What is kept has at most kMaxRank extents.
  static bool is_of(const Entry& entry, const mx::Shape& shape, mx::Dtype dtype,
                    std::uint32_t generation) noexcept {
    if (entry.generation != generation || entry.rank_and_dtype != rank_and_dtype(shape, dtype)) {
      return false;
    }
    std::size_t same = 0;  // a call of memcmp takes longer than the few extents
    while (same < shape.size() && shape.data()[same] == entry.extents[same]) ++same;
    return same == shape.size();
  }
  static std::size_t index_of(const mx::Shape& shape, mx::Dtype dtype) noexcept;
  LayoutId search(const mx::Shape& shape, mx::Dtype dtype, std::uint32_t generation) noexcept;

  std::array<Entry, kEntries> entries_{};
  const Entry* last_ = entries_.data();  // found or kept
};

/// Ids of the names of primitives, by the address of the text. What lies there is compared too:
/// some primitives make their names.
class RecentOps {
 public:
  OpId find(const char* name, std::uint32_t generation) const noexcept;
  void keep(const char* name, std::uint32_t generation, OpId id) noexcept;

 private:
  static constexpr std::size_t kEntries = 64;
  static constexpr std::size_t kLongest = 32;
  struct Entry {
    const char* name = nullptr;
    OpId id{};
    std::uint32_t generation = 0;
    std::array<char, kLongest> text{};
  };
  static std::size_t index_of(const char* name) noexcept;

  std::array<Entry, kEntries> entries_{};
};

/// A task and what of its op's scope it runs in; lies still from the hand-over until it has run.
/// One cache line, since it goes from one processor to the other and back.
struct alignas(64) CarriedTask {
  OpId op{};
  TracebackId traceback{};
  LabelId label{};
  StreamId stream{};
  std::function<void()> task;
  std::atomic<bool> is_taken{false};
  bool is_pooled = true;
};
static_assert(sizeof(CarriedTask) == 64);

/// Places for tasks on their way, given in turn and given back by the stream's thread.
class CarriedTasks {
 public:
  /// Throws std::bad_alloc when all places are taken and there is no memory for one more.
  CarriedTask& take();
  static void give_back(CarriedTask& carried) noexcept;

 private:
  static constexpr std::size_t kPlaces = 64;
  std::array<CarriedTask, kPlaces> places_;
  std::size_t next_ = 0;
};

class ThreadCaches {
 public:
  RecentLayouts layouts;
  RecentOps ops;
  CarriedTasks tasks;

 private:
  friend struct CacheList;
  ThreadCaches* next_ = nullptr;
};

/// Those of a thread that asks for the first time. Throws std::bad_alloc.
ThreadCaches& make_thread_caches();

inline ThreadCaches& thread_caches() {
  ThreadCaches* known = t_work.caches;
  return STRANDLINE_LIKELY(known != nullptr) ? *known : make_thread_caches();
}

}  // namespace strandline::mlx_adapter
