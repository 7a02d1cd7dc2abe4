// SPDX-License-Identifier: Apache-2.0
// The ring: the last `max_entries` events. Address space is reserved once and pages are committed
// by the system when first written, so a short run costs little and a long one stays constant. Not
// synchronised; the recorder's lock guards it.
//
//   sequence numbers count from 1 and never repeat; event n lies at (n - 1) % capacity
//   kept: [first_sequence, next_sequence), at most capacity of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/record/event.h"

namespace strandline::record {

class STRANDLINE_API EventRing {
 public:
  /// Throws InvalidArgument for 0 or more than 2^32 entries, OutOfMemory when the address space
  /// cannot be reserved.
  explicit EventRing(std::uint64_t max_entries);
  ~EventRing();
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  /// Appends what `make` returns, which is built in its place in the ring: an event that is built
  /// elsewhere and copied at once makes the processor wait for its own stores.
  template <typename Make>
  Event& append_made(Make&& make) noexcept {
    Event& event = *::new (static_cast<void*>(&events_[at_])) Event(make());
    if (++at_ == capacity_) at_ = 0;
    ++next_;
    return event;
  }
  std::uint64_t append(const Event& event) noexcept {
    append_made([&event] { return event; });
    return next_ - 1;
  }

  /// The event of a sequence number that is still kept, else null.
  Event* find(std::uint64_t sequence) noexcept {
    if (sequence < first_sequence() || sequence >= next_) return nullptr;
    const std::uint64_t back = next_ - sequence;
    return &events_[at_ >= back ? at_ - back : at_ + capacity_ - back];
  }

  std::uint64_t capacity() const noexcept { return capacity_; }
  std::uint64_t next_sequence() const noexcept { return next_; }
  std::uint64_t first_sequence() const noexcept {
    const std::uint64_t since_clear = next_ - start_;
    return since_clear > capacity_ ? next_ - capacity_ : start_;
  }
  std::uint64_t size() const noexcept { return next_ - first_sequence(); }
  std::uint64_t overwritten() const noexcept { return first_sequence() - start_; }

  /// Copies events [from, next_sequence) that are still kept, the first `most` of them; `out`
  /// should have the capacity.
  void copy_since(std::uint64_t from, std::vector<Event>& out, std::size_t most = SIZE_MAX) const;
  /// Of a ring still empty: its first event gets this number, so that it goes on where another
  /// ended.
  void continue_from(std::uint64_t sequence) noexcept { next_ = start_ = sequence; }
  /// Forgets all events; sequence numbers go on.
  void clear() noexcept;

 private:
  Event* events_ = nullptr;
  std::size_t at_ = 0;  // where the next event goes
  std::uint64_t capacity_;
  std::uint64_t next_ = 1;
  std::uint64_t start_ = 1;  // first sequence number after the last clear
};

}  // namespace strandline::record
