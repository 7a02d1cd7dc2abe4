// SPDX-License-Identifier: Apache-2.0
// Which actions bring a span of memory and which take it back: segments, ranges of expandable ones,
// whole buffers.
#pragma once

#include "strandline/record/event.h"

namespace strandline::snapshot {

inline bool obtains_segment(record::Action action) noexcept {
  return action == record::Action::segment_alloc || action == record::Action::segment_map ||
         action == record::Action::alloc_new || action == record::Action::alloc_external;
}

inline bool returns_segment(record::Action action) noexcept {
  return action == record::Action::segment_free || action == record::Action::segment_unmap ||
         action == record::Action::cache_to_device || action == record::Action::free_to_device ||
         action == record::Action::release_external;
}

}  // namespace strandline::snapshot
