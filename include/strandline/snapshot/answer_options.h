// SPDX-License-Identifier: Apache-2.0
// What the answers have in common: which frames are the asker's own, and which blocks count.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strandline/snapshot/rows.h"

namespace strandline::snapshot {

struct AnswerOptions {
  /// Patterns of files that hold the asker's own code: a text in the path, or with * and ? a
  /// pattern of the whole path. Without any: all but the standard library and installed packages.
  std::vector<std::string> own{};
  /// Which blocks count; all where it is empty.
  std::function<bool(const BlockRow&)> matches{};

  bool counts(const BlockRow& block) const { return !matches || matches(block); }
};

}  // namespace strandline::snapshot
