// SPDX-License-Identifier: Apache-2.0
// What is wired and what waits. Entries move between the two as map nodes, which cannot fail.
#include "strandline/alloc/residency_set.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "alloc/invariant.h"
#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

constexpr std::string_view kResidencySet = "ResidencySet";

constexpr std::uint64_t kSmallestCap = std::uint64_t{64} << 20;

}  // namespace

std::uint64_t ResidencySet::set_cap(std::uint64_t working_set_bytes,
                                    std::int64_t percent) noexcept {
  if (percent <= 0 || percent >= 100) return 0;
  const auto share = static_cast<std::uint64_t>(percent);
  // Exact, and without a product that could wrap.
  const std::uint64_t cap = working_set_bytes / 100 * share + working_set_bytes % 100 * share / 100;
  return std::max(cap, kSmallestCap);
}

ResidencySet::ResidencySet(const ResidencyOptions& options) : options_(options) {
  if (options.max_sets == 0) {
    throw InvalidArgument(error_message("ResidencySet", "max_sets", "0", "more than 0"));
  }
  sets_.reserve(options.max_sets);
}

ResidencySet::Place ResidencySet::insert(std::uint64_t handle, std::uint64_t size) {
  if (handle == 0 || size == 0) {
    throw InvalidArgument(error_message("ResidencySet::insert", "handle and size",
                                        fmt::format("{} and {}", handle, size), "above 0"));
  }
  if (ages_.find(handle) != nullptr) {
    throw InvalidArgument(error_message("ResidencySet::insert", "handle",
                                        fmt::format("{}, which is known", handle), "a new one"));
  }
  const auto [place, fresh] = waiting_.emplace(age_ + 1, Entry{.handle = handle, .size = size});
  try {
    ages_[handle] = age_ + 1;
  } catch (...) {
    waiting_.erase(place);
    throw;
  }
  ++age_;
  waiting_bytes_ += size;
  if (!fits(size)) return Place::waiting;
  wire(waiting_.extract(place));
  return Place::wired;
}

std::optional<ResidencySet::Place> ResidencySet::erase(std::uint64_t handle) noexcept {
  const std::uint64_t* age = ages_.find(handle);
  if (age == nullptr) return std::nullopt;
  const auto wired = wired_.find(*age);
  const bool was_wired = wired != wired_.end();
  if (was_wired) unwire(wired_.extract(wired));
  const auto waiting = waiting_.find(*age);
  waiting_bytes_ -= waiting->second.size;
  waiting_.erase(waiting);
  ages_.erase(handle);
  return was_wired ? Place::wired : Place::waiting;
}

bool ResidencySet::refuse(std::uint64_t handle) noexcept {
  const std::uint64_t* age = ages_.find(handle);
  if (age == nullptr) return false;
  const auto wired = wired_.find(*age);
  if (wired == wired_.end()) return false;
  unwire(wired_.extract(wired));
  return true;
}

std::vector<ResidencySet::Change> ResidencySet::set_limit(std::uint64_t bytes) {
  std::vector<Change> changes;
  const bool raised = bytes > options_.limit_bytes;
  changes.reserve(raised ? waiting_.size() : wired_.size());
  options_.limit_bytes = bytes;
  if (raised) promote(changes);
  while (wired_bytes_ > bytes) {
    const auto newest = std::prev(wired_.end());
    changes.push_back({.handle = newest->second.handle, .place = Place::waiting});
    unwire(wired_.extract(newest));
  }
  return changes;
}

void ResidencySet::promote(std::vector<Change>& changes) noexcept {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto next = std::next(at);
    if (fits(at->second.size)) {
      changes.push_back({.handle = at->second.handle, .place = Place::wired});
      wire(waiting_.extract(at));
    }
    at = next;
  }
}

void ResidencySet::wire(ByAge::node_type&& node) noexcept {
  Entry& entry = node.mapped();
  entry.set = choose_set(entry.size);
  sets_[entry.set].bytes += entry.size;
  ++sets_[entry.set].count;
  wired_bytes_ += entry.size;
  waiting_bytes_ -= entry.size;
  wired_.insert(std::move(node));
}

void ResidencySet::unwire(ByAge::node_type&& node) noexcept {
  const Entry& entry = node.mapped();
  sets_[entry.set].bytes -= entry.size;
  --sets_[entry.set].count;
  wired_bytes_ -= entry.size;
  waiting_bytes_ += entry.size;
  waiting_.insert(std::move(node));
}

// The first with room, where an empty one has room for anything; else a new one; else the emptiest.
std::size_t ResidencySet::choose_set(std::uint64_t size) noexcept {
  const std::uint64_t cap = options_.max_set_bytes;
  const auto has_room = [&](const Set& set) {
    return cap == 0 || set.count == 0 || (set.bytes <= cap && size <= cap - set.bytes);
  };
  auto chosen = std::ranges::find_if(sets_, has_room);
  if (chosen == sets_.end()) {
    if (sets_.size() < options_.max_sets) {
      sets_.emplace_back();  // the constructor reserved it
      return sets_.size() - 1;
    }
    chosen = std::ranges::min_element(sets_, {}, &Set::bytes);
  }
  return static_cast<std::size_t>(chosen - sets_.begin());
}

std::optional<ResidencySet::Place> ResidencySet::place_of(std::uint64_t handle) const noexcept {
  const std::uint64_t* age = ages_.find(handle);
  if (age == nullptr) return std::nullopt;
  return wired_.contains(*age) ? Place::wired : Place::waiting;
}

std::optional<std::size_t> ResidencySet::set_of(std::uint64_t handle) const noexcept {
  const std::uint64_t* age = ages_.find(handle);
  if (age == nullptr) return std::nullopt;
  const auto wired = wired_.find(*age);
  if (wired == wired_.end()) return std::nullopt;
  return wired->second.set;
}

void ResidencySet::validate() const {
  require(kResidencySet, wired_bytes_ <= options_.limit_bytes, "wired bytes <= limit",
          wired_bytes_);
  require(kResidencySet, ages_.size() == wired_.size() + waiting_.size(), "one place each",
          ages_.size());
  std::uint64_t waiting = 0;
  for (const auto& [age, entry] : waiting_) {
    const std::uint64_t* known = ages_.find(entry.handle);
    require(kResidencySet, known != nullptr && *known == age, "what waits is found by its handle",
            entry.handle);
    waiting += entry.size;
  }
  require(kResidencySet, waiting == waiting_bytes_, "waiting bytes = sum of sizes", waiting);
  validate_sets();
}

void ResidencySet::validate_sets() const {
  std::vector<Set> sums(sets_.size());
  std::uint64_t wired = 0;
  for (const auto& [age, entry] : wired_) {
    const std::uint64_t* known = ages_.find(entry.handle);
    require(kResidencySet, known != nullptr && *known == age,
            "what is wired is found by its handle", entry.handle);
    require(kResidencySet, entry.set < sums.size(), "a set that exists", entry.set);
    sums[entry.set].bytes += entry.size;
    ++sums[entry.set].count;
    wired += entry.size;
  }
  require(kResidencySet, wired == wired_bytes_, "wired bytes = sum of sizes", wired);
  require(kResidencySet, sums == sets_, "sets' bytes = sums of their buffers", wired);
  require(kResidencySet, sets_.size() <= options_.max_sets, "sets <= max_sets", sets_.size());
}

}  // namespace strandline::alloc
