// SPDX-License-Identifier: Apache-2.0
// Levels from the end backwards.
#include "strandline/snapshot/timeline.h"

#include <algorithm>

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;

struct Levels {
  std::int64_t active = 0;
  std::int64_t requested = 0;
  std::int64_t cached = 0;
};

/// What one event adds.
Levels change(Action action, std::int64_t size, std::int64_t requested) {
  switch (action) {
    case Action::alloc_new:
    case Action::alloc_external:
      return {size, requested, 0};
    case Action::alloc_reuse:
    case Action::alloc:
      return {size, requested, -size};
    case Action::free_to_cache:
    case Action::free_completed:
      return {-size, -requested, size};
    case Action::free_to_device:
    case Action::release_external:
      return {-size, -requested, 0};
    case Action::cache_to_device:
    case Action::segment_free:
    case Action::segment_unmap:
      return {0, 0, -size};
    case Action::segment_alloc:
    case Action::segment_map:
      return {0, 0, size};
    default:
      return {};
  }
}

Levels change(const EventColumns& events, std::size_t row) {
  return change(events.action[row], static_cast<std::int64_t>(events.size[row]),
                static_cast<std::int64_t>(events.requested[row]));
}

Levels levels_at_end(const Snapshot& snapshot, std::optional<std::uint8_t> device) {
  Levels end;
  const BlockColumns& blocks = snapshot.blocks;
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    if (device && blocks.device[b] != *device) continue;
    const auto size = static_cast<std::int64_t>(blocks.size[b]);
    if (blocks.use[b] == BlockUse::inactive) {
      end.cached += size;
    } else {
      end.active += size;
      end.requested += static_cast<std::int64_t>(blocks.requested[b]);
    }
  }
  return end;
}

}  // namespace

std::size_t Curve::peak_index() const noexcept {
  return static_cast<std::size_t>(std::max_element(level.begin(), level.end()) - level.begin());
}

std::int64_t active_at_end(const Snapshot& snapshot) {
  return levels_at_end(snapshot, std::nullopt).active;
}

std::int64_t cached_level(const Snapshot& snapshot, std::size_t index) {
  std::int64_t level = levels_at_end(snapshot, std::nullopt).cached;
  for (std::size_t i = snapshot.events.count(); i-- > index;) {
    level -= change(snapshot.events, i).cached;
  }
  return level;
}

Timeline make_timeline(const Snapshot& snapshot, std::optional<std::uint8_t> device) {
  const EventColumns& events = snapshot.events;
  const std::size_t count = events.count();
  Timeline timeline;
  for (Curve* curve : {&timeline.active, &timeline.requested, &timeline.cached}) {
    curve->level.resize(count + 1);
  }
  Levels level = levels_at_end(snapshot, device);
  for (std::size_t i = count;; --i) {
    timeline.active.level[i] = level.active;
    timeline.requested.level[i] = level.requested;
    timeline.cached.level[i] = level.cached;
    if (i == 0) break;
    if (device && events.device[i - 1] != *device) continue;
    const Levels step = change(events, i - 1);
    level.active -= step.active;
    level.requested -= step.requested;
    level.cached -= step.cached;
  }
  return timeline;
}

}  // namespace strandline::snapshot
