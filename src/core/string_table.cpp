// SPDX-License-Identifier: Apache-2.0
#include "strandline/core/string_table.h"

namespace strandline {
namespace {
constexpr std::uint64_t kEntryOverheadBytes = 96;  // string, map node and bucket of one text
}

std::uint32_t StringTable::intern(std::string_view text) {
  if (text.empty()) return 0;
  const LockGuard guard(mutex_);
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const std::uint64_t bytes = text.size() + kEntryOverheadBytes;
  if (bytes_ + bytes > cap_bytes_) {
    ++refused_;
    return 0;
  }
  const auto number = first_ + static_cast<std::uint32_t>(texts_.size());
  const std::string& stored = texts_.emplace_back(text);
  numbers_.emplace(stored, number);
  bytes_ += bytes;
  return number;
}

std::string StringTable::text(std::uint32_t number) const {
  const LockGuard guard(mutex_);
  if (number < first_ || number - first_ >= texts_.size()) return {};
  return texts_[number - first_];
}

std::uint64_t StringTable::memory_bytes() const {
  const LockGuard guard(mutex_);
  return bytes_;
}

std::uint64_t StringTable::refused() const {
  const LockGuard guard(mutex_);
  return refused_;
}

void StringTable::clear() {
  const LockGuard guard(mutex_);
  first_ += static_cast<std::uint32_t>(texts_.size());
  numbers_.clear();
  texts_.clear();
  bytes_ = 0;
  refused_ = 0;
}

}  // namespace strandline
