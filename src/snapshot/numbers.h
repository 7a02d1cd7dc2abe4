// SPDX-License-Identifier: Apache-2.0
// Sizes and counts for people. A column of sizes has one unit and is rounded as a whole, so that
// what is shown adds up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strandline::snapshot {

/// "1,204,331".
std::string with_commas(std::uint64_t number);

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes = 1;
};

/// The unit in which `largest` has few digits: B, KiB, MiB, and GiB from 10 GiB on.
SizeUnit unit_for(std::uint64_t largest) noexcept;

/// Tenths of `unit` (whole bytes for B), rounded.
std::uint64_t tenths(std::uint64_t bytes, SizeUnit unit) noexcept;
/// Tenths of each such that they sum to `total`, the tenths shown for their sum: the largest
/// remainders round up.
std::vector<std::uint64_t> tenths_that_add_up(std::span<const std::uint64_t> bytes, SizeUnit unit,
                                              std::uint64_t total);
/// "812.4", or "512" in bytes.
std::string tenths_text(std::uint64_t value, SizeUnit unit);

/// One size on its own: "812.4 MiB".
std::string size_text(std::uint64_t bytes);

/// "47 %", "< 1 %".
std::string share_text(std::uint64_t part, std::uint64_t whole);

}  // namespace strandline::snapshot
