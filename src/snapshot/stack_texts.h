// SPDX-License-Identifier: Apache-2.0
// Stacks of one file as text: what another file's can be compared with, and what is told of them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "snapshot/user_frames.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

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

}  // namespace strandline::snapshot
