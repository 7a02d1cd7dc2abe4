// SPDX-License-Identifier: Apache-2.0
// Distinct 32-bit id types. 0 is always "none". An id names an entry of the table of its kind and
// is never used as a bare integer; ids of different kinds do not convert into one another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace strandline {

template <typename Tag>
struct Id {
  std::uint32_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Id&) const = default;
};

using TracebackId = Id<struct TracebackTag>;  ///< a stack of frames, or a (calling, forward) pair
using OpId = Id<struct OpTag>;                ///< the name of a primitive
using LabelId = Id<struct LabelTag>;          ///< the user's text on an allocation
using LayoutId = Id<struct LayoutTag>;        ///< shape and dtype
using OwnerId = Id<struct OwnerTag>;          ///< a loaded program that memory belongs to
using StreamId = Id<struct StreamTag>;        ///< an in-order queue of device work
using PoolId = Id<struct PoolTag>;            ///< a private pool of an allocator

/// Names an array descriptor of a framework: any 64 bits that are unique among the living.
struct ArrayKey {
  std::uint64_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const ArrayKey&) const = default;
};

}  // namespace strandline

template <typename Tag>
struct std::hash<strandline::Id<Tag>> {
  std::size_t operator()(strandline::Id<Tag> id) const noexcept { return id.value; }
};
