// SPDX-License-Identifier: Apache-2.0
#include "thread_caches.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "strandline/core/flat_map.h"
#include "strandline/core/mutex.h"

namespace strandline::mlx_adapter {

STRANDLINE_FAST_TLS constinit thread_local ThreadWork t_work{};

std::size_t RecentLayouts::index_of(const mx::Shape& shape, mx::Dtype dtype) noexcept {
  std::uint64_t sum = rank_and_dtype(shape, dtype);
  for (const mx::ShapeElem extent : shape) {
    sum = (sum ^ static_cast<std::uint32_t>(extent)) * 0x9E3779B97F4A7C15ULL;
    sum ^= sum >> 32;
  }
  return sum % kEntries;
}

LayoutId RecentLayouts::search(const mx::Shape& shape, mx::Dtype dtype,
                               std::uint32_t generation) noexcept {
  if (shape.size() > kMaxRank) return {};
  const Entry& entry = entries_[index_of(shape, dtype)];
  if (!is_of(entry, shape, dtype, generation)) return {};
  last_ = &entry;
  return entry.id;
}

void RecentLayouts::keep(const mx::Shape& shape, mx::Dtype dtype, std::uint32_t generation,
                         LayoutId id) noexcept {
  if (shape.size() > kMaxRank) return;
  Entry& entry = entries_[index_of(shape, dtype)];
  entry = {.id = id, .generation = generation, .rank_and_dtype = rank_and_dtype(shape, dtype)};
  std::copy(shape.begin(), shape.end(), entry.extents.begin());
  last_ = &entry;
}

std::size_t RecentOps::index_of(const char* name) noexcept {
  return mix_bits(reinterpret_cast<std::uintptr_t>(name)) % kEntries;
}

OpId RecentOps::find(const char* name, std::uint32_t generation) const noexcept {
  const Entry& entry = entries_[index_of(name)];
  const bool same = entry.name == name && entry.generation == generation &&
                    std::strcmp(entry.text.data(), name) == 0;
  return same ? entry.id : OpId{};
}

void RecentOps::keep(const char* name, std::uint32_t generation, OpId id) noexcept {
  const std::string_view text(name);
  if (text.size() >= kLongest) return;
  Entry& entry = entries_[index_of(name)];
  entry = {.name = name, .id = id, .generation = generation};
  std::ranges::copy(text, entry.text.begin());
}

CarriedTask& CarriedTasks::take() {
  CarriedTask& place = places_[next_++ % kPlaces];
  if (!place.is_taken.load(std::memory_order_acquire)) {
    place.is_taken.store(true, std::memory_order_relaxed);
    return place;
  }
  auto* extra = new CarriedTask;
  extra->is_pooled = false;
  return *extra;
}

void CarriedTasks::give_back(CarriedTask& carried) noexcept {
  if (!carried.is_pooled) {
    delete &carried;
    return;
  }
  carried.task = nullptr;
  carried.is_taken.store(false, std::memory_order_release);
}

// Left by threads that have ended. Their tasks may still be on the way: places stay where they are.
struct CacheList {
  Mutex mutex;
  ThreadCaches* first STRANDLINE_GUARDED_BY(mutex) = nullptr;

  static CacheList& instance() noexcept {
    static CacheList& list = *new CacheList;
    return list;
  }
  ThreadCaches* take() noexcept {
    const LockGuard guard(mutex);
    ThreadCaches* caches = first;
    if (caches != nullptr) first = caches->next_;
    return caches;
  }
  void put(ThreadCaches* caches) noexcept {
    const LockGuard guard(mutex);
    caches->next_ = first;
    first = caches;
  }
};

// Made with the adapter: a child of a fork never waits for a thread that was making it.
[[maybe_unused]] const CacheList& g_cache_list = CacheList::instance();

ThreadCaches& make_thread_caches() {
  struct LeaveAtExit {
    ~LeaveAtExit() {
      if (t_work.caches != nullptr)
        CacheList::instance().put(std::exchange(t_work.caches, nullptr));
    }
  };
  thread_local LeaveAtExit leave;
  static_cast<void>(leave);
  ThreadCaches* left = CacheList::instance().take();
  t_work.caches = left != nullptr ? left : new ThreadCaches;
  return *t_work.caches;
}

}  // namespace strandline::mlx_adapter
