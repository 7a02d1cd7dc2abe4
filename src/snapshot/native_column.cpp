// SPDX-License-Identifier: Apache-2.0
// Numbers to bytes and back, byte by byte of their significance: equal high bytes stand together,
// where the compressor finds them.
#include "snapshot/native_column.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace strandline::snapshot::native {
namespace {

constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) noexcept {
  return (value >> 1) ^ (0 - (value & 1));
}

std::size_t bytes_for(std::uint64_t largest) noexcept {
  return (static_cast<std::size_t>(std::bit_width(largest)) + 7) / 8;
}

struct Shape {
  Coding coding = Coding::plain;
  std::size_t width = 0;
  std::uint64_t base = 0;
};

Shape shape_of(std::span<const std::uint64_t> values, bool is_first) {
  std::uint64_t least = values.empty() ? 0 : values.front();
  std::uint64_t most = least;
  std::uint64_t steps = 0;  // of all zigzags, or-ed: its width is the largest's
  std::uint64_t before = least;
  for (const std::uint64_t value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
    steps |= zigzag(value - before);
    before = value;
  }
  const std::size_t plain = bytes_for(most - least);
  const std::size_t delta = bytes_for(steps);
  const std::size_t floor = is_first ? 1 : 0;
  if (delta < plain) return {Coding::delta, std::max(delta, floor), values.front()};
  return {Coding::plain, std::max(plain, floor), least};
}

[[noreturn]] void fail(std::string what, std::string got, std::string expected) {
  throw PayloadError{std::move(what), std::move(got), std::move(expected)};
}

/// Overwrites the number at `at`.
void patch(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

void append_planes(std::string& out, std::span<const std::uint64_t> values, const Shape& shape) {
  const std::size_t rows = values.size();
  std::vector<std::uint64_t> coded(values.begin(), values.end());
  if (shape.coding == Coding::delta) {
    std::uint64_t before = shape.base;
    for (std::uint64_t& value : coded) {
      const std::uint64_t now = value;
      value = zigzag(now - before);
      before = now;
    }
  } else {
    for (std::uint64_t& value : coded) value -= shape.base;
  }
  const std::size_t start = out.size();
  out.resize(start + shape.width * rows);
  for (std::size_t plane = 0; plane < shape.width; ++plane) {
    char* const to = out.data() + start + plane * rows;
    const std::size_t shift = 8 * plane;
    for (std::size_t i = 0; i < rows; ++i) to[i] = static_cast<char>(coded[i] >> shift);
  }
}

}  // namespace

SectionWriter::SectionWriter(std::string& payload, Table table, std::size_t rows)
    : payload_(payload), start_(payload.size()) {
  put(payload_, static_cast<std::uint8_t>(table));
  put(payload_, std::uint8_t{0});
  put(payload_, std::uint16_t{0});
  put(payload_, static_cast<std::uint32_t>(rows));
  put(payload_, std::uint32_t{0});
}

void SectionWriter::numbers(std::uint8_t field, std::span<const std::uint64_t> values) {
  const Shape shape = shape_of(values, columns_ == 0);
  put(payload_, field);
  put(payload_, static_cast<std::uint8_t>(shape.coding));
  put(payload_, static_cast<std::uint8_t>(shape.width));
  put(payload_, std::uint8_t{0});
  put(payload_, static_cast<std::uint32_t>(8 + shape.width * values.size()));
  put(payload_, shape.base);
  append_planes(payload_, values, shape);
  ++columns_;
}

void SectionWriter::bytes(std::uint8_t field, std::string_view bytes) {
  put(payload_, field);
  put(payload_, static_cast<std::uint8_t>(Coding::bytes));
  put(payload_, std::uint8_t{0});
  put(payload_, std::uint8_t{0});
  put(payload_, static_cast<std::uint32_t>(bytes.size()));
  payload_ += bytes;
  ++columns_;
}

void SectionWriter::finish() {
  patch(payload_, start_ + 2, columns_, 2);
  patch(payload_, start_ + 8, payload_.size() - start_ - kSectionHeadBytes, 4);
}

const ColumnView* SectionView::find(std::uint8_t field) const noexcept {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const ColumnView& column) { return column.field == field; });
  return found == columns.end() ? nullptr : &*found;
}

namespace {

ColumnView take_column(std::string_view& bytes) {
  if (bytes.size() < kColumnHeadBytes) {
    fail("a column", fmt::format("{} bytes", bytes.size()), "its head");
  }
  ColumnView column{.field = get<std::uint8_t>(bytes, 0),
                    .coding = static_cast<Coding>(get<std::uint8_t>(bytes, 1)),
                    .width = get<std::uint8_t>(bytes, 2),
                    .flags = get<std::uint8_t>(bytes, 3),
                    .data = {}};
  const auto size = get<std::uint32_t>(bytes, 4);
  bytes.remove_prefix(kColumnHeadBytes);
  if (size > bytes.size()) {
    fail("a column", fmt::format("{} bytes", size), fmt::format("{} that are left", bytes.size()));
  }
  column.data = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return column;
}

}  // namespace

SectionView take_section(std::string_view& payload) {
  if (payload.size() < kSectionHeadBytes) {
    fail("a section", fmt::format("{} bytes", payload.size()), "its head");
  }
  SectionView section{.table = get<std::uint8_t>(payload, 0),
                      .flags = get<std::uint8_t>(payload, 1),
                      .rows = get<std::uint32_t>(payload, 4),
                      .columns = {}};
  const auto columns = get<std::uint16_t>(payload, 2);
  const auto size = get<std::uint32_t>(payload, 8);
  payload.remove_prefix(kSectionHeadBytes);
  if (size > payload.size()) {
    fail("a section", fmt::format("{} bytes", size),
         fmt::format("{} that are left", payload.size()));
  }
  if (section.rows > size) {
    fail("a section", fmt::format("{} rows", section.rows), "at most one a byte");
  }
  std::string_view bytes = payload.substr(0, size);
  payload.remove_prefix(size);
  for (std::uint16_t i = 0; i < columns; ++i) section.columns.push_back(take_column(bytes));
  if (!bytes.empty()) {
    fail("a section", fmt::format("{} bytes more", bytes.size()), "columns alone");
  }
  return section;
}

void decode(const ColumnView& column, std::uint32_t rows, std::vector<std::uint64_t>& values) {
  const std::uint64_t expected = 8 + std::uint64_t{column.width} * rows;
  if (column.coding > Coding::delta || column.width > 8 || column.data.size() != expected) {
    fail(fmt::format("column {}", column.field),
         fmt::format("coding {}, width {}, {} bytes", static_cast<int>(column.coding), column.width,
                     column.data.size()),
         "numbers, a value for each row");
  }
  const auto base = get<std::uint64_t>(column.data, 0);
  const bool is_delta = column.coding == Coding::delta;
  values.assign(rows, is_delta ? 0 : base);
  for (std::size_t plane = 0; plane < column.width; ++plane) {
    const auto* from =
        reinterpret_cast<const unsigned char*>(column.data.data()) + 8 + plane * std::size_t{rows};
    const std::size_t shift = 8 * plane;
    // Plain values are base + Σ byte << shift, so that adding plane by plane gives the sum.
    for (std::size_t i = 0; i < rows; ++i)
      values[i] += static_cast<std::uint64_t>(from[i]) << shift;
  }
  if (!is_delta) return;
  std::uint64_t before = base;
  for (std::uint64_t& value : values) {
    before += unzigzag(value);
    value = before;
  }
}

}  // namespace strandline::snapshot::native
