// SPDX-License-Identifier: Apache-2.0
// A snapshot from parts: events one by one, and the segments they leave behind. For events that
// come from elsewhere than this process's recorder, a list of dictionaries from Python for example.
//
// The state at the end is what the events say of it: what was handed out and not freed is live,
// what was freed to a cache and not returned is cached, segments are what was obtained and not
// returned. A block that lies in no known segment gets one of its own. Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// One frame; the texts are copied.
struct FrameView {
  std::string_view file;
  std::string_view function;
  std::uint32_t line = 0;
};

/// One event as a caller tells it; sizes in bytes, fields by action as record::Event has them.
struct EventInput {
  record::Action action = record::Action::none;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  std::int64_t time_us = 0;
  std::span<const FrameView> stack{};    ///< outermost first
  std::span<const FrameView> forward{};  ///< outermost first
  std::string_view op{};
  std::string_view label{};
  std::string_view owner{};
  std::span<const std::int64_t> shape{};
  record::Dtype dtype = record::Dtype::unknown;  ///< unknown and no shape: no layout
  std::uint64_t stream = 0;
  std::pair<std::uint64_t, std::uint64_t> pool{0, 0};
  std::uint16_t thread = 0;
  std::uint8_t device = 0;
};

class StateFollower;

class STRANDLINE_API SnapshotBuilder {
 public:
  SnapshotBuilder();
  SnapshotBuilder(SnapshotBuilder&&) noexcept;
  SnapshotBuilder& operator=(SnapshotBuilder&&) noexcept;
  ~SnapshotBuilder();

  /// Events come in their order. Throws InvalidArgument for an event without an action.
  void add_event(const EventInput& event);
  /// The snapshot and its state, without peak sets; the builder is empty afterwards.
  Snapshot finish();

 private:
  EventRow row_of(const EventInput& event);
  StackId stack_of(std::span<const FrameView> outermost_first);
  LayoutId layout_of(const EventInput& event);

  Snapshot snapshot_;
  std::unique_ptr<StateFollower> state_;
  std::map<std::uint64_t, StreamId> streams_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, PoolId> pools_;
  std::map<std::pair<std::vector<std::int64_t>, record::Dtype>, LayoutId> layouts_;
};

}  // namespace strandline::snapshot
