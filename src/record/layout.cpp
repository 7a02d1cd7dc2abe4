// SPDX-License-Identifier: Apache-2.0
#include "strandline/record/layout.h"

#include <algorithm>
#include <array>

namespace strandline::record {
namespace {

struct DtypeFacts {
  std::string_view name;
  std::uint32_t size_bytes;
};
constexpr std::array<DtypeFacts, 16> kDtypes = {{
    {"unknown", 0},
    {"bool", 1},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex64", 8},
    {"complex128", 16},
}};

const DtypeFacts& facts(Dtype dtype) noexcept {
  const auto index = static_cast<std::size_t>(dtype);
  return kDtypes[index < kDtypes.size() ? index : 0];
}

std::uint64_t hash_of(std::span<const std::int64_t> shape, Dtype dtype) noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(dtype) + 1;
  for (const std::int64_t extent : shape) {
    hash = mix_bits(hash + static_cast<std::uint64_t>(extent)) + shape.size();
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace

std::string_view dtype_name(Dtype dtype) noexcept {
  return facts(dtype).name;
}
std::uint32_t dtype_size_bytes(Dtype dtype) noexcept {
  return facts(dtype).size_bytes;
}

std::string layout_text(const Layout& layout) {
  std::string text = "(";
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(layout.shape[i]);
  }
  if (layout.shape.size() == 1) text += ",";
  text += ") ";
  text += dtype_name(layout.dtype);
  return text;
}

bool LayoutTable::entry_equals(const Entry& entry, std::span<const std::int64_t> shape,
                               Dtype dtype) const {
  const auto first = dimensions_.begin() + entry.first_dimension;
  return entry.dtype == dtype && entry.rank == shape.size() &&
         std::equal(shape.begin(), shape.end(), first);
}

LayoutId LayoutTable::intern(std::span<const std::int64_t> shape, Dtype dtype) {
  const std::uint64_t hash = hash_of(shape, dtype);
  const LockGuard guard(mutex_);
  const std::uint32_t* head = heads_.find(hash);
  for (std::uint32_t at = head != nullptr ? *head : 0; at != 0; at = entries_[at - 1].next) {
    if (entry_equals(entries_[at - 1], shape, dtype)) return {first_ + at - 1};
  }
  const std::uint64_t bytes = entries_.size() * (sizeof(Entry) + 32) + dimensions_.size() * 8;
  if (bytes >= cap_bytes_ || shape.size() > UINT16_MAX) {
    ++refused_;
    return {};
  }
  const auto first_dimension = static_cast<std::uint32_t>(dimensions_.size());
  // Before the entry that points at them: what throws must leave no entry without its shape.
  dimensions_.insert(dimensions_.end(), shape.begin(), shape.end());
  entries_.push_back({.first_dimension = first_dimension,
                      .next = head != nullptr ? *head : 0,
                      .rank = static_cast<std::uint16_t>(shape.size()),
                      .dtype = dtype});
  heads_[hash] = static_cast<std::uint32_t>(entries_.size());
  return {first_ + static_cast<std::uint32_t>(entries_.size()) - 1};
}

Layout LayoutTable::layout(LayoutId id) const {
  const LockGuard guard(mutex_);
  if (id.value < first_ || id.value - first_ >= entries_.size()) return {};
  const Entry& entry = entries_[id.value - first_];
  const auto first = dimensions_.begin() + entry.first_dimension;
  return {.shape = {first, first + entry.rank}, .dtype = entry.dtype};
}

std::uint64_t LayoutTable::memory_bytes() const {
  const LockGuard guard(mutex_);
  return entries_.capacity() * sizeof(Entry) + dimensions_.capacity() * sizeof(std::int64_t) +
         heads_.memory_bytes();
}

std::uint64_t LayoutTable::refused() const {
  const LockGuard guard(mutex_);
  return refused_;
}

void LayoutTable::clear() {
  const LockGuard guard(mutex_);
  first_ += static_cast<std::uint32_t>(entries_.size());
  entries_.clear();
  dimensions_.clear();
  heads_.clear();
  refused_ = 0;
}

}  // namespace strandline::record
