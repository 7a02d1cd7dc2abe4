// SPDX-License-Identifier: Apache-2.0
// What stands on the stack and in the memo of the pickle reader: 64 bits, the kind and a payload.
// Nothing points to a tree: a dictionary that closes becomes a row of the columns at once, and its
// value is the number of that row.
//
//   bits 0..7 kind, bits 8..63 payload: a number, an id, or an index into a table of PickleRecords
#pragma once

#include <cstdint>

namespace strandline::snapshot {

enum class ValueKind : std::uint8_t {
  unset,  ///< no value yet
  none,
  boolean,
  integer,  ///< signed, fits 56 bits
  wide,     ///< index of an integer that does not
  real,     ///< index of a floating-point number
  text,     ///< StringId
  json,     ///< StringId of what is no record, as JSON
  pair,     ///< index of two integers
  empty_list,
  empty_dict,
  frame,  ///< FrameId
  stack,  ///< StackId: a list of frames
  event,  ///< row; the plural below is the index of a range of rows
  events,
  ranged_event,  ///< kept or not: index of its trace in the filter, as of the plural
  ranged_events,
  traces,  ///< index of a list of ranges
  block,
  blocks,
  segment,
  segments,
  annotation,
  annotations,
  history,
  histories,
  root,    ///< the dictionary of a snapshot
  opaque,  ///< kept by nobody
  open,    ///< a container under construction: index into those of the machine
};

class Value {
 public:
  constexpr Value() = default;
  constexpr Value(ValueKind kind, std::uint64_t payload)
      : bits_((payload << 8) | static_cast<std::uint64_t>(kind)) {}

  static constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 55) - 1;
  static constexpr bool fits(std::int64_t number) noexcept {
    return number <= kMaxInteger && number >= -kMaxInteger - 1;
  }
  static constexpr Value integer(std::int64_t number) noexcept {
    return {ValueKind::integer, static_cast<std::uint64_t>(number)};
  }

  constexpr ValueKind kind() const noexcept { return static_cast<ValueKind>(bits_ & 0xff); }
  constexpr bool is(ValueKind kind_) const noexcept { return kind() == kind_; }
  constexpr std::uint64_t payload() const noexcept { return bits_ >> 8; }
  constexpr std::uint32_t id() const noexcept { return static_cast<std::uint32_t>(bits_ >> 8); }
  constexpr std::int64_t number() const noexcept { return static_cast<std::int64_t>(bits_) >> 8; }
  constexpr bool operator==(const Value&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

static_assert(sizeof(Value) == 8);

}  // namespace strandline::snapshot
