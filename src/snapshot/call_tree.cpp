// SPDX-License-Identifier: Apache-2.0
// The stack tree with bytes on it; nodes that hold nothing at the peak are left out.
#include "snapshot/call_tree.h"

#include <algorithm>
#include <tuple>

namespace strandline::snapshot {
namespace {

/// What is called deeper is summed there: files may tell of stacks of any depth.
constexpr std::size_t kDeepestTree = 256;

class Tree {
 public:
  Tree(const Snapshot& snapshot, UserFrames& frames)
      : snapshot_(snapshot),
        frames_(frames),
        held_(snapshot.stacks.size() + 1),
        children_(snapshot.stacks.size() + 1) {
    const BlockColumns& set = snapshot.peak_set[0];
    for (std::size_t b = 0; b < set.count(); ++b) {
      const Held held{.bytes = set.size[b], .requested = set.requested[b], .blocks = 1};
      for (StackId node = set.stack[b]; node; node = snapshot.stacks.parent(node)) {
        Held& sum = held_[node.value];
        if (sum.blocks == 0) children_[snapshot.stacks.parent(node).value].push_back(node);
        sum += held;
      }
    }
  }

  std::vector<CallNode> nodes(StackId parent, std::size_t depth = 0) const {
    std::vector<CallNode> nodes;
    if (depth == kDeepestTree) return nodes;
    for (const StackId stack : children_[parent.value]) {
      const FrameId frame = snapshot_.stacks.frame(stack);
      nodes.push_back({.frame = frames_.location(frame),
                       .is_users = frames_.is_users(frame),
                       .held = held_[stack.value],
                       .children = this->nodes(stack, depth + 1)});
    }
    // Equal ones by what they say, never by their numbers, which depend on what the ring holds.
    const auto key = [](const CallNode& node) {
      return std::tie(node.frame.file, node.frame.line, node.frame.function);
    };
    std::sort(nodes.begin(), nodes.end(), [&](const CallNode& a, const CallNode& b) {
      if (a.held.bytes != b.held.bytes) return a.held.bytes > b.held.bytes;
      return key(a) < key(b);
    });
    return nodes;
  }

 private:
  const Snapshot& snapshot_;
  UserFrames& frames_;
  std::vector<Held> held_;                      // by stack, with all it calls
  std::vector<std::vector<StackId>> children_;  // those that hold something; [0]: outermost
};

}  // namespace

std::vector<CallNode> call_tree(const Snapshot& snapshot, UserFrames& frames) {
  return Tree(snapshot, frames).nodes({});
}

}  // namespace strandline::snapshot
