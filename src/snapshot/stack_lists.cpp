// SPDX-License-Identifier: Apache-2.0
// Look-up and growth of the kept lists.
#include "snapshot/stack_lists.h"

#include <algorithm>

namespace strandline::snapshot {
namespace {

constexpr std::uint64_t kAlwaysKept = std::uint64_t{1} << 20;  // frames

}  // namespace

StackId StackLists::find(std::span<const std::uint32_t> frames, std::uint64_t hash,
                         std::uint64_t bytes_read) {
  if (frames.empty()) return {};
  const std::uint64_t key = mix_bits(hash + frames.size()) | 1;
  if (const std::uint32_t* const number = index_.find(key)) {
    const List& list = lists_[*number - 1];
    const std::uint32_t* const kept = frames_.data() + list.begin;
    if (list.length == frames.size() && std::equal(frames.begin(), frames.end(), kept)) {
      return list.stack;
    }
    return in_tree(frames);  // another list of this hash: the first stays
  }
  const StackId stack = in_tree(frames);
  if (frames_.size() + frames.size() > kAlwaysKept + bytes_read / 128) return stack;
  lists_.push_back({.begin = frames_.size(),
                    .length = static_cast<std::uint32_t>(frames.size()),
                    .stack = stack});
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  index_[key] = static_cast<std::uint32_t>(lists_.size());
  return stack;
}

StackId StackLists::in_tree(std::span<const std::uint32_t> frames) {
  StackId stack;
  for (std::size_t i = frames.size(); i-- > 0;) stack = tree_.child(stack, FrameId{frames[i]});
  return stack;
}

}  // namespace strandline::snapshot
