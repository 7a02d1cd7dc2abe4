// SPDX-License-Identifier: Apache-2.0
// The table of keys: each with its names, what its value may be, where it is kept, who acts on it,
// and what the page says. The parser, the text, the values and docs/settings.md all come from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "strandline/alloc/settings.h"

namespace strandline::alloc::settings {

inline constexpr std::uint64_t kMebibyte = 1 << 20;

struct Flag {
  bool Settings::*at;
};
/// The least value of a size, and what a huge one or none means.
enum class Least : std::uint8_t { zero, one, large_segment };
struct Mebibytes {
  std::uint64_t Settings::*at;
  Least least = Least::zero;
};
/// large_segment_size_mb: above 10.
struct LargeSegment {};
struct Fraction {
  double Settings::*at;
  bool is_open;  ///< neither 0 nor 1
};
/// A power of two up to 128.
struct Threads {
  std::uint64_t Settings::*at;
};
struct Divisions {};
struct Reserve {};
struct ReserveByClass {};
struct Backend {};

using Kind = std::variant<Flag, Mebibytes, LargeSegment, Fraction, Threads, Divisions, Reserve,
                          ReserveByClass, Backend>;

enum class Effect : std::uint8_t {
  acts,  ///< SegmentAllocator does what it says
  kept,  ///< checked and kept; nothing of this version acts on it
};

struct Key {
  std::string_view name;                  ///< free of any device's
  std::array<std::string_view, 2> older;  ///< CUDA's and HIP's spelling; empty: none
  Kind kind;
  Effect effect;
  std::string_view meaning;  ///< the page's sentence
};

std::span<const Key> keys();
/// By any of its names; null where there is none.
const Key* find_key(std::string_view name);
/// The name in the table that is most like it; empty where none is near.
std::string_view nearest_name(std::string_view name);

/// What may stand as a value, as errors and the page say it; `large_mb` is large_segment_size_mb.
std::string expected_value(const Key& key, std::uint64_t large_mb);
SettingValue value_of(const Key& key, const Settings& settings);
std::string printed(const SettingValue& value);
void copy(const Key& key, const Settings& from, Settings& to);
/// What `default` stands for beside `settings`: max_non_split_rounding_mb follows the segments.
Settings defaults_beside(const Settings& settings);

}  // namespace strandline::alloc::settings
