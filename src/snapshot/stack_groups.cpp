// SPDX-License-Identifier: Apache-2.0
// Grouping by stack.
#include "strandline/snapshot/stack_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "snapshot/file_links.h"
#include "snapshot/user_frames.h"

namespace strandline::snapshot {
namespace {

/// Stacks of one file as what another file can be compared with.
class StackTexts {
 public:
  StackTexts(const SnapshotFile& file, const std::vector<std::string>& own)
      : snapshot_(file.snapshot), frames_(file.snapshot, {}, own) {}

  /// The frames, innermost first, one a line.
  const std::string& key(StackId stack) {
    const auto [entry, is_new] = keys_.try_emplace(stack.value);
    if (!is_new) return entry->second;
    for (StackId node = stack; node; node = snapshot_.stacks.parent(node)) {
      const FrameId frame = snapshot_.stacks.frame(node);
      entry->second += fmt::format("{}:{}:{}\n", snapshot_.text(snapshot_.frames.file(frame)),
                                   snapshot_.frames.line(frame),
                                   snapshot_.text(snapshot_.frames.function(frame)));
    }
    return entry->second;
  }

  std::vector<Location> locations(StackId stack) const {
    std::vector<Location> places;
    for (; stack; stack = snapshot_.stacks.parent(stack)) {
      places.push_back(frames_.location(snapshot_.stacks.frame(stack)));
    }
    return places;
  }

  std::optional<Location> line(StackId stack) {
    const FrameId frame = frames_.line_of(stack);
    if (!frame) return std::nullopt;
    return frames_.location(frame);
  }

 private:
  const Snapshot& snapshot_;
  UserFrames frames_;
  std::unordered_map<std::uint32_t, std::string> keys_;
};

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

std::vector<Leak> find_leaks(const SnapshotFile& file, std::uint8_t device,
                             const AnswerOptions& options) {
  if (device >= file.traces.size()) return {};
  const RowRange trace = file.traces[device];
  const EventColumns& events = file.snapshot.events;
  std::unordered_map<std::uint32_t, Leak> leaks;
  for (std::uint64_t i = trace.first; i < trace.end(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (record::begins_block(events.action[row])) ++leaks[events.stack[row].value].allocs;
  }
  const BlockColumns live = blocks_held(file, device, static_cast<std::int64_t>(trace.count) - 1);
  for (std::size_t b = 0; b < live.count(); ++b) {
    if (live.alloc_sequence[b] == 0 || !options.counts(live.row(b))) continue;
    Leak& leak = leaks[live.stack[b].value];
    leak.held += {.bytes = live.requested[b], .requested = live.requested[b], .blocks = 1};
    if (leak.held.blocks == 1) leak.oldest_us = live.alloc_time_us[b];
    leak.oldest_us = std::min(leak.oldest_us, live.alloc_time_us[b]);
    leak.newest_us = std::max(leak.newest_us, live.alloc_time_us[b]);
  }
  StackTexts texts(file, options.own);
  std::vector<Leak> found;
  std::map<std::pair<std::uint64_t, std::string>, Leak> sorted;
  for (auto& [stack, leak] : leaks) {
    if (leak.held.blocks == 0) continue;
    leak.line = texts.line(StackId{stack});
    leak.stack = texts.locations(StackId{stack});
    sorted.emplace(std::pair(UINT64_MAX - leak.held.bytes, texts.key(StackId{stack})),
                   std::move(leak));
  }
  for (auto& [key, leak] : sorted) found.push_back(std::move(leak));
  return found;
}

}  // namespace strandline::snapshot
