// SPDX-License-Identifier: Apache-2.0
// The memo of a pickle: values by number. Writers number from 0 on without gaps, so the memo is one
// array, 8 bytes an entry; numbers far above what was read go to a map instead.
//
//   size()      entries that have a value, what MEMOIZE numbers the next by
//   is_plain()  all of them stand in the array: the next entry is entry size()
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_map>

#include "snapshot/large_pages.h"
#include "snapshot/pickle_value.h"
#include "strandline/core/export.h"

namespace strandline::snapshot {

class PickleMemo {
 public:
  std::uint64_t size() const noexcept { return size_; }
  bool is_plain() const noexcept { return size_ == count_; }

  /// Unset without one.
  Value get(std::uint64_t number) const noexcept {
    if (STRANDLINE_LIKELY(number < count_)) return values_[number];
    const auto found = sparse_.find(number);
    return found == sparse_.end() ? Value{} : found->second;
  }
  /// `bytes_read` says which numbers are believed: nothing honest counts further than its bytes.
  void set(std::uint64_t number, Value value, std::uint64_t bytes_read) {
    Value& entry = at(number, bytes_read);
    if (entry.is(ValueKind::unset)) ++size_;
    entry = value;
  }

  // For a plain memo.
  Value plain(std::uint64_t number) const noexcept {
    return STRANDLINE_LIKELY(number < count_) ? values_[number] : Value{};
  }
  const Value* entries() const noexcept { return values_.get(); }
  void push(Value value) {
    if (count_ == capacity_) grow(count_ + 1);
    values_[count_++] = value;
    size_ = count_;
  }
  void replace(std::uint64_t number, Value value) noexcept { values_[number] = value; }
  void reserve(std::uint64_t entries) {
    if (entries > capacity_) grow(entries);
  }
  void truncate(std::uint64_t size) noexcept { size_ = count_ = size; }

 private:
  struct Free {
    void operator()(Value* values) const noexcept { std::free(static_cast<void*>(values)); }
  };

  Value& at(std::uint64_t number, std::uint64_t bytes_read) {
    if (number < count_) return values_[number];
    if (number > bytes_read) return sparse_[number];
    if (number >= capacity_) grow(number + 1);
    while (count_ <= number) values_[count_++] = Value{};
    return values_[number];
  }
  /// realloc moves pages of large blocks: no moment holds both, and what is not reached yet is
  /// none.
  void grow(std::uint64_t entries) {
    const std::uint64_t wanted = std::max(entries, std::max<std::uint64_t>(capacity_ * 2, 1024));
    void* const room = std::realloc(static_cast<void*>(values_.get()),
                                    static_cast<std::size_t>(wanted) * sizeof(Value));
    if (room == nullptr) throw std::bad_alloc();
    static_cast<void>(values_.release());
    values_.reset(static_cast<Value*>(room));
    capacity_ = wanted;
    want_large_pages(room, static_cast<std::size_t>(wanted) * sizeof(Value));
  }

  std::unique_ptr<Value[], Free> values_;
  std::uint64_t count_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t size_ = 0;
  std::unordered_map<std::uint64_t, Value> sparse_;
};

}  // namespace strandline::snapshot
