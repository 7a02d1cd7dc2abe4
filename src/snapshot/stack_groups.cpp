// SPDX-License-Identifier: Apache-2.0
// Grouping by stack.
#include "strandline/snapshot/stack_groups.h"

#include <algorithm>
#include <map>

#include "snapshot/stack_texts.h"

namespace strandline::snapshot {
namespace {

void add_side(const SnapshotFile& file, const BlockColumns& blocks, Held StackDifference::*side,
              const std::vector<std::string>& own, std::map<std::string, StackDifference>& groups) {
  StackTexts texts(file, own);
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const StackId stack = blocks.stack[b];
    const auto [entry, is_new] = groups.try_emplace(texts.key(stack));
    StackDifference& group = entry->second;
    if (is_new) {
      group.line = texts.line(stack);
      group.stack = texts.locations(stack);
    }
    group.*side += {.bytes = blocks.requested[b], .requested = blocks.requested[b], .blocks = 1};
  }
}

}  // namespace

Difference make_difference(const SnapshotFile& file_a, const BlockColumns& a,
                           const SnapshotFile& file_b, const BlockColumns& b,
                           const std::vector<std::string>& own) {
  std::map<std::string, StackDifference> groups;
  add_side(file_a, a, &StackDifference::a, own, groups);
  add_side(file_b, b, &StackDifference::b, own, groups);
  Difference difference;
  for (auto& [key, group] : groups) {
    difference.a += group.a;
    difference.b += group.b;
    difference.stacks.push_back(std::move(group));
  }
  std::stable_sort(difference.stacks.begin(), difference.stacks.end(),
                   [](const StackDifference& left, const StackDifference& right) {
                     return left.growth() > right.growth();
                   });
  return difference;
}

}  // namespace strandline::snapshot
