// SPDX-License-Identifier: Apache-2.0
// Events, segments and blocks as columns: one vector a field, all of one length, and a row type to
// add to them or to read one back. Times are Unix microseconds; layout, stream and pool count in
// the tables of the same snapshot.
//
//   blocks of segment s: [first_block[s], first_block[s] + block_count[s]), by address, and
//   Σ block size = segment size; segments are sorted by address
#pragma once

#include <cstdint>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"
#include "strandline/record/event.h"
#include "strandline/record/state.h"
#include "strandline/snapshot/columns.h"

namespace strandline::snapshot {

struct EventRow {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  std::int64_t time_us = 0;
  StackId stack{};
  StackId forward{};  ///< of the operation whose gradient this belongs to
  StringId op{};
  StringId label{};
  StringId owner{};
  LayoutId layout{};
  StreamId stream{};
  PoolId pool{};
  std::uint16_t thread = 0;
  std::uint8_t device = 0;
  record::Action action = record::Action::none;

  bool operator==(const EventRow&) const = default;
};

/// Fields as record::Event has them; what they mean by action stands there.
struct STRANDLINE_API EventColumns {
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> requested;
  std::vector<std::int64_t> time_us;
  std::vector<StackId> stack;
  std::vector<StackId> forward;
  std::vector<StringId> op;
  std::vector<StringId> label;
  std::vector<StringId> owner;
  std::vector<LayoutId> layout;
  std::vector<StreamId> stream;
  std::vector<PoolId> pool;
  std::vector<std::uint16_t> thread;
  std::vector<std::uint8_t> device;
  std::vector<record::Action> action;

  std::size_t count() const noexcept { return action.size(); }
  void reserve(std::size_t rows);
  void push_back(const EventRow& row);
  EventRow row(std::size_t i) const;
};

struct BlockRow {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  ///< capacity
  std::uint64_t requested = 0;
  std::uint64_t view_bytes = 0;      ///< of the holder's view
  std::uint64_t view_offset = 0;     ///< bytes from the block's start
  std::uint64_t alloc_sequence = 0;  ///< of its alloc event; 0: before recording, or free
  std::int64_t alloc_time_us = 0;
  StackId stack{};
  StackId forward{};
  StringId op{};
  StringId label{};
  StringId owner{};
  LayoutId layout{};
  StreamId stream{};
  PoolId pool{};
  std::uint16_t thread = 0;
  std::uint8_t device = 0;
  record::Action action = record::Action::none;  ///< that began it
  record::BlockUse use = record::BlockUse::inactive;
  bool hidden = false;  ///< below `min_size`: has no events

  bool operator==(const BlockRow&) const = default;
};

struct STRANDLINE_API BlockColumns {
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> requested;
  std::vector<std::uint64_t> view_bytes;
  std::vector<std::uint64_t> view_offset;
  std::vector<std::uint64_t> alloc_sequence;
  std::vector<std::int64_t> alloc_time_us;
  std::vector<StackId> stack;
  std::vector<StackId> forward;
  std::vector<StringId> op;
  std::vector<StringId> label;
  std::vector<StringId> owner;
  std::vector<LayoutId> layout;
  std::vector<StreamId> stream;
  std::vector<PoolId> pool;
  std::vector<std::uint16_t> thread;
  std::vector<std::uint8_t> device;
  std::vector<record::Action> action;
  std::vector<record::BlockUse> use;
  std::vector<std::uint8_t> hidden;

  std::size_t count() const noexcept { return address.size(); }
  void push_back(const BlockRow& row);
  BlockRow row(std::size_t i) const;
};

struct SegmentRow {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  StackId stack{};
  StreamId stream{};
  PoolId pool{};
  std::uint8_t device = 0;
  bool is_small = false;
  bool is_expandable = false;
  std::uint32_t first_block = 0;
  std::uint32_t block_count = 0;

  bool operator==(const SegmentRow&) const = default;
};

struct STRANDLINE_API SegmentColumns {
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> size;
  std::vector<StackId> stack;
  std::vector<StreamId> stream;
  std::vector<PoolId> pool;
  std::vector<std::uint8_t> device;
  std::vector<std::uint8_t> is_small;
  std::vector<std::uint8_t> is_expandable;
  std::vector<std::uint32_t> first_block;
  std::vector<std::uint32_t> block_count;

  std::size_t count() const noexcept { return address.size(); }
  void push_back(const SegmentRow& row);
  SegmentRow row(std::size_t i) const;
};

}  // namespace strandline::snapshot
