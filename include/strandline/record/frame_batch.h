// SPDX-License-Identifier: Apache-2.0
// Frames told many at once. A source whose frames are told under a lock that others hold for long,
// as an interpreter's, is a BatchSource too: it takes the lock once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/record/traceback.h"

namespace strandline::record {

class STRANDLINE_API BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Runs `work`, in which `resolve` is called often, with all that `resolve` needs.
  virtual void while_resolving(const std::function<void()>& work) const = 0;
};

/// Frames of any sources, told in the order given; each source is asked once.
STRANDLINE_API std::vector<Frame> resolve_frames(std::span<const RawFrame> frames);

}  // namespace strandline::record
