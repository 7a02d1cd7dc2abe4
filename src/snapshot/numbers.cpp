// SPDX-License-Identifier: Apache-2.0
// Rounding for people.
#include "snapshot/numbers.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace strandline::snapshot {
namespace {

/// value * 10 / unit without overflow, and what is left, in 1/unit.
struct Division {
  std::uint64_t quotient;
  std::uint64_t remainder;
};

Division in_tenths(std::uint64_t bytes, SizeUnit unit) noexcept {
  if (unit.bytes == 1) return {bytes, 0};
  const std::uint64_t whole = bytes / unit.bytes;
  const std::uint64_t rest = bytes % unit.bytes * 10;
  return {whole * 10 + rest / unit.bytes, rest % unit.bytes};
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

SizeUnit unit_for(std::uint64_t largest) noexcept {
  if (largest < 1ULL << 10) return {"B", 1};
  if (largest < 1ULL << 20) return {"KiB", 1ULL << 10};
  if (largest < 10ULL << 30) return {"MiB", 1ULL << 20};
  return {"GiB", 1ULL << 30};
}

std::uint64_t tenths(std::uint64_t bytes, SizeUnit unit) noexcept {
  const Division division = in_tenths(bytes, unit);
  return division.quotient + (division.remainder * 2 >= unit.bytes && unit.bytes > 1 ? 1 : 0);
}

std::vector<std::uint64_t> tenths_that_add_up(std::span<const std::uint64_t> bytes, SizeUnit unit,
                                              std::uint64_t total) {
  std::vector<std::uint64_t> shown;
  std::vector<std::uint64_t> remainders;
  for (const std::uint64_t value : bytes) {
    const Division division = in_tenths(value, unit);
    shown.push_back(division.quotient);
    remainders.push_back(division.remainder);
  }
  std::vector<std::size_t> order(shown.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  std::uint64_t sum = std::accumulate(shown.begin(), shown.end(), std::uint64_t{0});
  for (auto at = order.begin(); at != order.end() && sum < total; ++at, ++sum) ++shown[*at];
  // A total that was itself rounded down against its neighbours takes from the smallest remainders.
  for (auto at = order.rbegin(); at != order.rend() && sum > total; ++at) {
    if (shown[*at] == 0) continue;
    --shown[*at];
    --sum;
  }
  return shown;
}

std::string tenths_text(std::uint64_t value, SizeUnit unit) {
  if (unit.bytes == 1) return std::to_string(value);
  return fmt::format("{}.{}", value / 10, value % 10);
}

std::string size_text(std::uint64_t bytes) {
  const SizeUnit unit = unit_for(bytes);
  return fmt::format("{} {}", tenths_text(tenths(bytes, unit), unit), unit.name);
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0 || part == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (percent < 1) return "< 1 %";
  return fmt::format("{:.0f} %", percent);
}

}  // namespace strandline::snapshot
