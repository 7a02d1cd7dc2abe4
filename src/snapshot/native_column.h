// SPDX-License-Identifier: Apache-2.0
// Sections of a chunk's payload: rows of one table as columns of 64-bit numbers, each in the fewest
// bytes its values need.
//
//   section = table (8 bits), flags (8), columns (16), rows (32), bytes of the columns (32),
//   column… column  = field (8 bits), coding (8), width (8), flags (8), bytes (32), data numbers =
//   base (64 bits), then byte 0 of each row, byte 1 of each row, … width − 1
//             plain: base + x        delta: the one before + zigzag(x), the first from base
//
// The first column of a section has at least one byte a row: so many rows need so many bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/native_format.h"

namespace strandline::snapshot::native {

class SectionWriter {
 public:
  /// Appends a section of `rows` rows to `payload`; `finish` completes it.
  SectionWriter(std::string& payload, Table table, std::size_t rows);
  void numbers(std::uint8_t field, std::span<const std::uint64_t> values);
  void bytes(std::uint8_t field, std::string_view bytes);
  void finish();

 private:
  std::string& payload_;
  std::size_t start_;
  std::uint16_t columns_ = 0;
};

struct ColumnView {
  std::uint8_t field = 0;
  Coding coding = Coding::plain;
  std::uint8_t width = 0;
  std::uint8_t flags = 0;
  std::string_view data{};
};

struct SectionView {
  std::uint8_t table = 0;
  std::uint8_t flags = 0;
  std::uint32_t rows = 0;
  std::vector<ColumnView> columns;

  const ColumnView* find(std::uint8_t field) const noexcept;
};

/// Why a payload makes no sense; the reader adds the file's offset.
struct PayloadError {
  std::string what;
  std::string got;
  std::string expected;
};

/// Takes the next section off `payload`. Throws PayloadError.
SectionView take_section(std::string_view& payload);
/// The values of a column of numbers. Throws PayloadError.
void decode(const ColumnView& column, std::uint32_t rows, std::vector<std::uint64_t>& values);

}  // namespace strandline::snapshot::native
