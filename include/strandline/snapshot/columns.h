// SPDX-License-Identifier: Apache-2.0
// What the columns of a snapshot point into: strings, frames, stacks. Each is written once and
// named by a 32-bit number that counts from 1; 0 is none. Numbers mean something in their snapshot
// only.
//
//   stacks are a tree: node = (parent, frame), the parent being the caller; a stack's id is its
//   innermost node, so walking parents gives the frames innermost first
//
// Plain values: copied, moved and read by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"

namespace strandline::snapshot {

using StringId = Id<struct StringColumnTag>;  ///< text of a snapshot; none is the empty text
using FrameId = Id<struct FrameColumnTag>;    ///< file, function and line
using StackId = Id<struct StackTreeTag>;      ///< innermost node of a stack

/// Numbers of equal things by their hash; what is equal is the caller's to say.
class HashIndex {
 public:
  /// The number under `hash` for which `equal(number)` holds, 0 without one.
  template <typename Equal>
  std::uint32_t find(std::uint64_t hash, Equal&& equal) const {
    const std::uint32_t* head = heads_.find(key(hash));
    std::uint32_t number = head == nullptr ? 0 : *head;
    while (number != 0 && !equal(number)) number = next_[number - 1];
    return number;
  }

  /// Adds the next number (1, 2, …) and returns it.
  std::uint32_t add(std::uint64_t hash) {
    std::uint32_t& head = heads_[key(hash)];
    next_.push_back(head);
    head = static_cast<std::uint32_t>(next_.size());
    return head;
  }

 private:
  static std::uint64_t key(std::uint64_t hash) noexcept { return hash == 0 ? 1 : hash; }

  FlatMap<std::uint32_t> heads_;
  std::vector<std::uint32_t> next_;
};

class STRANDLINE_API StringColumn {
 public:
  StringId intern(std::string_view text);
  /// Empty for none. The view lasts until the next `intern`.
  std::string_view text(StringId id) const noexcept {
    if (!id || id.value > ends_.size()) return {};
    const std::uint64_t begin = id.value == 1 ? 0 : ends_[id.value - 2];
    return {bytes_.data() + begin, static_cast<std::size_t>(ends_[id.value - 1] - begin)};
  }
  std::size_t size() const noexcept { return ends_.size(); }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;  // text n is bytes_[ends_[n - 2], ends_[n - 1])
  HashIndex index_;
};

class STRANDLINE_API FrameColumn {
 public:
  FrameId intern(StringId file, StringId function, std::uint32_t line);

  StringId file(FrameId id) const noexcept { return id ? files_[id.value - 1] : StringId{}; }
  StringId function(FrameId id) const noexcept {
    return id ? functions_[id.value - 1] : StringId{};
  }
  std::uint32_t line(FrameId id) const noexcept { return id ? lines_[id.value - 1] : 0; }
  std::size_t size() const noexcept { return lines_.size(); }

 private:
  std::vector<StringId> files_;
  std::vector<StringId> functions_;
  std::vector<std::uint32_t> lines_;
  HashIndex index_;
};

class STRANDLINE_API StackTree {
 public:
  /// The stack `parent` with `frame` called from its innermost frame.
  StackId child(StackId parent, FrameId frame);

  StackId parent(StackId id) const noexcept { return id ? parents_[id.value - 1] : StackId{}; }
  FrameId frame(StackId id) const noexcept { return id ? frames_[id.value - 1] : FrameId{}; }
  std::size_t size() const noexcept { return parents_.size(); }
  std::size_t depth(StackId id) const noexcept;

 private:
  std::vector<StackId> parents_;
  std::vector<FrameId> frames_;
  FlatMap<std::uint32_t> children_;  // (parent, frame) -> number
};

}  // namespace strandline::snapshot
