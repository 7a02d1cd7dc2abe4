// SPDX-License-Identifier: Apache-2.0
#include "strandline/record/event_ring.h"

#include <algorithm>
#include <string>

#include <sys/mman.h>

#include "strandline/core/error.h"

namespace strandline::record {
namespace {
constexpr std::uint64_t kMostEntries = 1ULL << 32;
}

EventRing::EventRing(std::uint64_t max_entries) : capacity_(max_entries) {
  if (max_entries == 0 || max_entries > kMostEntries) {
    throw InvalidArgument(error_message("record_memory_events", "max_entries",
                                        std::to_string(max_entries), "1 to 2^32"));
  }
  const std::size_t bytes = capacity_ * sizeof(Event);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw OutOfMemory(error_message("record_memory_events", "address space for max_entries",
                                    std::to_string(max_entries), "fewer entries"),
                      bytes, 0, 0);
  }
  events_ = static_cast<Event*>(memory);
}

EventRing::~EventRing() {
  munmap(events_, capacity_ * sizeof(Event));
}

void EventRing::copy_since(std::uint64_t from, std::vector<Event>& out, std::size_t most) const {
  from = std::max(from, first_sequence());
  if (from >= next_) return;
  const std::size_t begin = (at_ + capacity_ - (next_ - from)) % capacity_;
  const std::size_t count = std::min<std::size_t>(next_ - from, most);
  const std::size_t before_wrap = std::min<std::size_t>(count, capacity_ - begin);
  out.insert(out.end(), events_ + begin, events_ + begin + before_wrap);
  out.insert(out.end(), events_, events_ + (count - before_wrap));
}

void EventRing::clear() noexcept {
  start_ = next_;
  // Gives the pages back; they read as zero when touched again.
  madvise(events_, capacity_ * sizeof(Event), MADV_DONTNEED);
}

}  // namespace strandline::record
