// SPDX-License-Identifier: Apache-2.0
// Schoolbook division by 10^9; quadratic, hence the limit.
#include "snapshot/wide_decimal.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace strandline::snapshot {
namespace {

constexpr std::uint32_t kBase = 1'000'000'000;

std::vector<unsigned char> magnitude_of(std::string_view bytes, bool negative) {
  std::vector<unsigned char> magnitude(bytes.begin(), bytes.end());
  unsigned carry = 1;
  for (unsigned char& byte : magnitude) {
    if (!negative) break;
    carry += static_cast<unsigned char>(~byte);
    byte = static_cast<unsigned char>(carry);
    carry >>= 8;
  }
  std::reverse(magnitude.begin(), magnitude.end());
  return magnitude;
}

}  // namespace

std::string decimal_of_little_endian(std::string_view bytes, bool negative) {
  std::vector<unsigned char> magnitude = magnitude_of(bytes, negative);
  const std::string sign = negative ? "-" : "";
  if (magnitude.size() > kMostWideBytes) {
    return fmt::format("{}0x{:02x}", sign, fmt::join(magnitude, ""));
  }
  std::vector<std::uint32_t> groups;  // least significant first
  while (std::any_of(magnitude.begin(), magnitude.end(), [](auto byte) { return byte != 0; })) {
    std::uint64_t rest = 0;
    for (unsigned char& byte : magnitude) {
      rest = (rest << 8) | byte;
      byte = static_cast<unsigned char>(rest / kBase);
      rest %= kBase;
    }
    groups.push_back(static_cast<std::uint32_t>(rest));
  }
  if (groups.empty()) return "0";
  std::string text = fmt::format("{}{}", sign, groups.back());
  for (std::size_t i = groups.size() - 1; i-- > 0;) text += fmt::format("{:09}", groups[i]);
  return text;
}

}  // namespace strandline::snapshot
