// SPDX-License-Identifier: Apache-2.0
// Which frames are the user's: those outside the standard library, site-packages and <…> files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

/// By the path alone: "<frozen …>", "??", …/site-packages/…, …/lib/python3.11/….
bool is_library_file(std::string_view file) noexcept;

class UserFrames {
 public:
  UserFrames(const Snapshot& snapshot, const std::vector<std::string>& library_folders)
      : snapshot_(snapshot), folders_(library_folders), known_(snapshot.frames.size() + 1) {}

  bool is_users(FrameId frame);
  /// The innermost of the user's Python frames of a stack, without one the innermost of the user's:
  /// native frames below a script are a library's whose paths nobody knows. None without any.
  FrameId line_of(StackId stack);
  Location location(FrameId frame) const;

 private:
  const Snapshot& snapshot_;
  const std::vector<std::string>& folders_;
  std::vector<std::optional<bool>> known_;
};

}  // namespace strandline::snapshot
