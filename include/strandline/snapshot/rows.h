// SPDX-License-Identifier: Apache-2.0
// Events, segments and blocks as columns: one a field, all of one length, and a row type to add to
// them or to read one back. Times are Unix microseconds; layout, stream and pool count in the
// tables of the same snapshot. What events seldom have is packed: nothing where it is none.
//
//   fields()   the one list of a kind's columns: name, column, field of the row, in their order
//
//   blocks of segment s: [first_block[s], first_block[s] + block_count[s]), by address, and
//   Σ block size = segment size; segments are sorted by address
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"
#include "strandline/record/event.h"
#include "strandline/record/state.h"
#include "strandline/snapshot/columns.h"
#include "strandline/snapshot/packed_column.h"

namespace strandline::snapshot {

/// One column: its name, where it stands among the columns, where its value stands in a row.
template <typename Columns, typename Column, typename Row, typename Value>
struct Field {
  std::string_view name;
  Column Columns::*column;
  Value Row::*value;
};
template <typename Columns, typename Column, typename Row, typename Value>
Field(std::string_view, Column Columns::*, Value Row::*) -> Field<Columns, Column, Row, Value>;

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
  StringId context{};  ///< of a compiler, where it was at work
  std::uint16_t thread = 0;
  std::uint8_t device = 0;
  record::Action action = record::Action::none;

  bool operator==(const EventRow&) const = default;
};

/// Fields as record::Event has them; what they mean by action stands there.
struct STRANDLINE_API EventColumns {
  std::vector<std::uint64_t> address;
  PackedColumn<std::uint64_t> size;
  PackedColumn<std::uint64_t> requested;
  std::vector<std::int64_t> time_us;
  std::vector<StackId> stack;
  PackedColumn<StackId> forward;
  PackedColumn<StringId> op;
  PackedColumn<StringId> label;
  PackedColumn<StringId> owner;
  PackedColumn<LayoutId> layout;
  PackedColumn<StreamId> stream;
  PackedColumn<PoolId> pool;
  PackedColumn<StringId> context;
  PackedColumn<std::uint16_t> thread;
  PackedColumn<std::uint8_t> device;
  std::vector<record::Action> action;

  static constexpr auto fields() noexcept {
    using C = EventColumns;
    using R = EventRow;
    return std::tuple{Field{"address", &C::address, &R::address},
                      Field{"size", &C::size, &R::size},
                      Field{"requested", &C::requested, &R::requested},
                      Field{"time_us", &C::time_us, &R::time_us},
                      Field{"stack", &C::stack, &R::stack},
                      Field{"forward", &C::forward, &R::forward},
                      Field{"op", &C::op, &R::op},
                      Field{"label", &C::label, &R::label},
                      Field{"owner", &C::owner, &R::owner},
                      Field{"layout", &C::layout, &R::layout},
                      Field{"stream", &C::stream, &R::stream},
                      Field{"pool", &C::pool, &R::pool},
                      Field{"context", &C::context, &R::context},
                      Field{"thread", &C::thread, &R::thread},
                      Field{"device", &C::device, &R::device},
                      Field{"action", &C::action, &R::action}};
  }
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

  static constexpr auto fields() noexcept {
    using C = BlockColumns;
    using R = BlockRow;
    return std::tuple{Field{"address", &C::address, &R::address},
                      Field{"size", &C::size, &R::size},
                      Field{"requested", &C::requested, &R::requested},
                      Field{"view_bytes", &C::view_bytes, &R::view_bytes},
                      Field{"view_offset", &C::view_offset, &R::view_offset},
                      Field{"alloc_sequence", &C::alloc_sequence, &R::alloc_sequence},
                      Field{"alloc_time_us", &C::alloc_time_us, &R::alloc_time_us},
                      Field{"stack", &C::stack, &R::stack},
                      Field{"forward", &C::forward, &R::forward},
                      Field{"op", &C::op, &R::op},
                      Field{"label", &C::label, &R::label},
                      Field{"owner", &C::owner, &R::owner},
                      Field{"layout", &C::layout, &R::layout},
                      Field{"stream", &C::stream, &R::stream},
                      Field{"pool", &C::pool, &R::pool},
                      Field{"thread", &C::thread, &R::thread},
                      Field{"device", &C::device, &R::device},
                      Field{"action", &C::action, &R::action},
                      Field{"use", &C::use, &R::use},
                      Field{"hidden", &C::hidden, &R::hidden}};
  }
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

  static constexpr auto fields() noexcept {
    using C = SegmentColumns;
    using R = SegmentRow;
    return std::tuple{Field{"address", &C::address, &R::address},
                      Field{"size", &C::size, &R::size},
                      Field{"stack", &C::stack, &R::stack},
                      Field{"stream", &C::stream, &R::stream},
                      Field{"pool", &C::pool, &R::pool},
                      Field{"device", &C::device, &R::device},
                      Field{"is_small", &C::is_small, &R::is_small},
                      Field{"is_expandable", &C::is_expandable, &R::is_expandable},
                      Field{"first_block", &C::first_block, &R::first_block},
                      Field{"block_count", &C::block_count, &R::block_count}};
  }
  std::size_t count() const noexcept { return address.size(); }
  void push_back(const SegmentRow& row);
  SegmentRow row(std::size_t i) const;
};

}  // namespace strandline::snapshot
