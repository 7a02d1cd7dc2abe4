// SPDX-License-Identifier: Apache-2.0
// The event: 64 bytes written for each thing that happens to memory. Trivially copyable; nothing is
// formatted, resolved or allocated when one is written.
//
//   offset  0        8      16          24      32          36  40     44      48     52      56
//           address  size   requested   ticks   traceback   op  label  layout  owner  stream  pool
//   offset 60: thread (16 bits), 62: device (8), 63: action (8)
//
// What the fields mean by action (0 where nothing is said):
//   alloc…, free…, release…    address = payload as the program sees it, size = capacity,
//                              requested = asked for, all ids
//   holder                     block; size = bytes of the holder's view, requested = byte offset of
//                              its view; traceback, op, layout, label
//   annotate                   block with its size and requested size; label
//   segment…, cache_to_device  segment or range; size
//   oom                        address = bytes free on the device, requested = asked for
//   snapshot                   size = active bytes
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::record {

enum class Action : std::uint8_t {
  none,
  // whole-buffer allocators: a buffer is its own segment
  alloc_new,        ///< obtained from the device and handed out
  alloc_reuse,      ///< handed out again from the cache
  alloc_external,   ///< foreign memory wrapped (make_buffer)
  free_to_cache,    ///< kept for reuse
  free_to_device,   ///< returned to the device
  cache_to_device,  ///< a cached buffer returned to the device
  release_external,
  // segment allocators
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  // all
  oom,
  snapshot,
  annotate,
  holder,
};

/// Number of actions, `none` included.
inline constexpr std::size_t kActionCount = static_cast<std::size_t>(Action::holder) + 1;

/// The name as written in `get_memory_events`, e.g. "alloc_new".
STRANDLINE_API std::string_view action_name(Action action) noexcept;

/// The action begins the life of a block.
constexpr bool begins_block(Action action) noexcept {
  return action == Action::alloc_new || action == Action::alloc_reuse ||
         action == Action::alloc_external || action == Action::alloc;
}

/// The action ends the life of a block: its bytes are no longer active.
constexpr bool ends_block(Action action) noexcept {
  return action == Action::free_to_cache || action == Action::free_to_device ||
         action == Action::release_external || action == Action::free_completed;
}

/// The action is one of an allocator whose buffers are their own segments.
constexpr bool is_whole_buffer(Action action) noexcept {
  return action >= Action::alloc_new && action <= Action::release_external;
}

struct Event {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  std::uint64_t ticks = 0;
  TracebackId traceback{};
  OpId op{};
  LabelId label{};
  LayoutId layout{};
  OwnerId owner{};
  StreamId stream{};
  PoolId pool{};
  std::uint16_t thread = 0;
  std::uint8_t device = 0;
  Action action = Action::none;

  bool operator==(const Event&) const = default;
};

static_assert(sizeof(Event) == 64 && std::is_trivially_copyable_v<Event>);

}  // namespace strandline::record
