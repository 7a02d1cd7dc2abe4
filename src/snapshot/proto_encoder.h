// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format, as far as a profile needs it: (field << 3 | type), then a varint (type
// 0) or a length and bytes (type 2). Signed numbers are varints of their two's complement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strandline::snapshot {

class ProtoEncoder {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void bytes(std::uint32_t field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  /// A packed list of numbers is the bytes of this, as a field.
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }

  const std::string& str() const noexcept { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace strandline::snapshot
