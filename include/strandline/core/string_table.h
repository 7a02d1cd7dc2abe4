// SPDX-License-Identifier: Apache-2.0
// Interning: equal texts get equal ids, an id is four bytes in an event and a text only when read.
// Numbers are never given twice, also not after `clear`, so a stale id reads as "none" and never as
// another text. Past the byte cap new texts get id 0 and are counted. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"
#include "strandline/core/mutex.h"

namespace strandline {

class STRANDLINE_API StringTable {
 public:
  explicit StringTable(std::uint64_t cap_bytes) : cap_bytes_(cap_bytes) {}

  /// The number of `text`, 0 when it is empty or the cap is reached. Throws std::bad_alloc only.
  std::uint32_t intern(std::string_view text) STRANDLINE_EXCLUDES(mutex_);
  /// The text of `number`; empty for 0 and for numbers from before a `clear`.
  std::string text(std::uint32_t number) const STRANDLINE_EXCLUDES(mutex_);

  std::uint64_t memory_bytes() const STRANDLINE_EXCLUDES(mutex_);
  std::uint64_t refused() const STRANDLINE_EXCLUDES(mutex_);  ///< texts that met the cap
  void clear() STRANDLINE_EXCLUDES(mutex_);
  /// Held around a fork, so that the child gets a whole table and a free lock.
  void lock_for_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.lock(); }
  void unlock_after_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.unlock(); }

 private:
  mutable Mutex mutex_;
  const std::uint64_t cap_bytes_;
  std::deque<std::string> texts_ STRANDLINE_GUARDED_BY(mutex_);  // stable addresses for the views
  std::unordered_map<std::string_view, std::uint32_t> numbers_ STRANDLINE_GUARDED_BY(mutex_);
  std::uint32_t first_ STRANDLINE_GUARDED_BY(mutex_) = 1;  // number of texts_[0]
  std::uint64_t bytes_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ STRANDLINE_GUARDED_BY(mutex_) = 0;
};

/// A StringTable whose numbers are ids of one kind.
template <typename IdType>
class NameTable {
 public:
  explicit NameTable(std::uint64_t cap_bytes) : table_(cap_bytes) {}

  IdType intern(std::string_view text) { return IdType{table_.intern(text)}; }
  std::string text(IdType id) const { return table_.text(id.value); }
  std::uint64_t memory_bytes() const { return table_.memory_bytes(); }
  std::uint64_t refused() const { return table_.refused(); }
  void clear() { table_.clear(); }
  void lock_for_fork() noexcept { table_.lock_for_fork(); }
  void unlock_after_fork() noexcept { table_.unlock_after_fork(); }

 private:
  StringTable table_;
};

}  // namespace strandline
