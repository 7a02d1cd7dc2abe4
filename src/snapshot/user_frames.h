// SPDX-License-Identifier: Apache-2.0
// Which frames are the user's: those outside the standard library, site-packages and <…> files; in
// a stack without one, those of code that was typed: python -c, standard input, notebooks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strandline/snapshot/peak_report.h"

namespace strandline::snapshot {

/// By the path alone: "<frozen …>", "??", …/site-packages/…, …/lib/python3.11/….
bool is_library_file(std::string_view file) noexcept;

/// Of code that has no file: "<string>", "<stdin>", "<ipython-input-…>", "<python-input-…>",
/// "<doctest …>". Libraries run such code as well.
bool is_typed_code(std::string_view file) noexcept;

/// A text in the path, or, with * or ? in it, a pattern of the whole path.
bool matches_path(std::string_view pattern, std::string_view path) noexcept;

class UserFrames {
 public:
  /// With `own` patterns only files that match one are the user's.
  explicit UserFrames(const Snapshot& snapshot, std::vector<std::string> library_folders = {},
                      std::vector<std::string> own = {})
      : snapshot_(snapshot),
        folders_(std::move(library_folders)),
        own_(std::move(own)),
        known_(snapshot.frames.size() + 1),
        lines_(snapshot.stacks.size() + 1, kUnknown) {}

  bool is_users(FrameId frame);
  /// The innermost of the user's Python frames of a stack, without one that of typed code, without
  /// that the innermost of the user's: native frames below a script are a library's whose paths
  /// nobody knows. None without any. With `own` patterns typed code must match one, too.
  FrameId line_of(StackId stack);
  bool is_typed(FrameId frame) const;
  Location location(FrameId frame) const;

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;

  FrameId find_line(StackId stack);

  const Snapshot& snapshot_;
  std::vector<std::string> folders_;
  std::vector<std::string> own_;
  std::vector<std::optional<bool>> known_;
  std::vector<std::uint32_t> lines_;  // by stack
};

}  // namespace strandline::snapshot
