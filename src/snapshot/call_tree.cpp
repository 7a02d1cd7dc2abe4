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
  Tree(const Snapshot& tables, const BlockColumns& set, UserFrames& frames)
      : stacks_(tables.stacks),
        frames_(frames),
        held_(tables.stacks.size() + 1),
        children_(tables.stacks.size() + 1),
        is_typed_(tables.stacks.size() + 1, false) {
    for (std::size_t b = 0; b < set.count(); ++b) {
      held_[set.stack[b].value] +=
          {.bytes = set.size[b], .requested = set.requested[b], .blocks = 1};
      note_typed(set.stack[b]);
    }
    // Callers come before those they call, so each is whole when its turn comes.
    for (std::size_t number = stacks_.size(); number > 0; --number) {
      if (held_[number].blocks == 0) continue;
      const StackId stack{static_cast<std::uint32_t>(number)};
      const StackId caller = stacks_.parent(stack);
      held_[caller.value] += held_[number];
      children_[caller.value].push_back(stack);
    }
  }

  std::vector<CallNode> nodes(StackId parent, std::size_t depth = 0) const {
    std::vector<CallNode> nodes;
    if (depth == kDeepestTree) return nodes;
    for (const StackId stack : children_[parent.value]) {
      const FrameId frame = stacks_.frame(stack);
      nodes.push_back({.frame = frames_.location(frame),
                       .is_users = frames_.is_users(frame) || is_typed_[stack.value],
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
  // Typed code is the user's where nothing else of the stack is.
  void note_typed(StackId stack) {
    const FrameId line = frames_.line_of(stack);
    if (!line || !frames_.is_typed(line)) return;
    for (; stack; stack = stacks_.parent(stack)) {
      is_typed_[stack.value] = is_typed_[stack.value] || frames_.is_typed(stacks_.frame(stack));
    }
  }

  const StackTree& stacks_;
  UserFrames& frames_;
  std::vector<Held> held_;                      // by stack, with all it calls
  std::vector<std::vector<StackId>> children_;  // those that hold something; [0]: outermost
  std::vector<bool> is_typed_;                  // by stack
};

}  // namespace

std::vector<CallNode> call_tree(const Snapshot& tables, const BlockColumns& set,
                                UserFrames& frames) {
  return Tree(tables, set, frames).nodes({});
}

}  // namespace strandline::snapshot
