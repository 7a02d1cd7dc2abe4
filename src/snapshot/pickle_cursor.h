// SPDX-License-Identifier: Apache-2.0
// What is left to read of the bytes at hand. `number` and `take` expect that `has` said yes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace strandline::snapshot {

struct PickleCursor {
  const char* at;
  const char* end;

  bool has(std::uint64_t bytes) const noexcept {
    return bytes <= static_cast<std::uint64_t>(end - at);
  }
  unsigned char opcode() const noexcept { return static_cast<unsigned char>(*at); }
  std::string_view take(std::size_t bytes) noexcept {
    const char* const from = at;
    at += bytes;
    return {from, bytes};
  }

  /// Little-endian.
  std::uint64_t number(std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    }
    at += bytes;
    return value;
  }
  /// The next 8 bytes, little-endian, left where they are.
  std::uint64_t peek8() const noexcept {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
    return value;
  }

  /// A length, then as many bytes.
  bool text(std::size_t length_bytes, std::string_view& text) noexcept {
    if (!has(length_bytes)) return false;
    const std::uint64_t length = number(length_bytes);
    if (!has(length)) return false;
    text = take(static_cast<std::size_t>(length));
    return true;
  }
  bool line(std::string_view& line) noexcept {
    const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    if (found == nullptr) return false;
    line = {at, static_cast<std::size_t>(static_cast<const char*>(found) - at)};
    at = static_cast<const char*>(found) + 1;
    return true;
  }
};

}  // namespace strandline::snapshot
