// SPDX-License-Identifier: Apache-2.0
// The segments of a moment with what lies in them.
#pragma once

#include <map>
#include <vector>

#include "snapshot/user_frames.h"
#include "strandline/snapshot/fragmentation.h"

namespace strandline::snapshot {

/// Live blocks by their line. Frames of gradients count for the operation they belong to.
class PinSums {
 public:
  explicit PinSums(UserFrames& frames) : frames_(&frames) {}

  void add(const BlockRow& block);
  /// Largest first; equal ones by line.
  std::vector<Pin> pins() const;

 private:
  UserFrames* frames_;
  std::map<FrameId, Held> sums_;
};

Place resolved(const Snapshot& snapshot, const PlaceClass& place);

/// The line of a stack, as a value.
std::optional<Location> line_of(UserFrames& frames, StackId stack);

/// Every segment, by address. Pins are of the blocks that count; with `options.matches` segments
/// without such a block have none.
std::vector<SegmentUse> segments_in_use(const SnapshotFile& file, const StateReplay& replay,
                                        UserFrames& frames, const AnswerOptions& options);

}  // namespace strandline::snapshot
