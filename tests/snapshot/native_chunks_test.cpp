// SPDX-License-Identifier: Apache-2.0
// Native files from chunks put together by hand: what a newer version adds, numbers that name
// nothing, counts that are not there, gaps, numbers of any width.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/native_tables.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/native_file.h"

namespace strandline::snapshot {
namespace {

using ::testing::HasSubstr;

/// A file of chunks made by hand.
class Made {
 public:
  Made() : output_(bytes_), chunks_(output_, 3) { chunks_.write_file_head(); }

  Made& events(std::uint64_t first, std::uint64_t count) {
    native::RowBuffer<EventRow> rows;
    for (std::uint64_t i = 0; i < count; ++i) {
      rows.add({.address = 4096 * (first + i),
                .size = 64,
                .requested = 64,
                .time_us = static_cast<std::int64_t>(first + i),
                .action = record::Action::alloc_new});
    }
    std::string payload;
    rows.write(payload, native::Table::events);
    return chunk(native::ChunkKind::rows, 0, payload,
                 {.first_sequence = first, .events = static_cast<std::uint32_t>(count)});
  }
  Made& chunk(native::ChunkKind kind, std::uint16_t flags, const std::string& payload,
              const native::ChunkFacts& facts = {}) {
    chunks_.write(kind, flags, payload, facts);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  StringOutput output_;
  native::ChunkWriter chunks_;
};

/// A section with one column, with any flags.
std::string section(std::uint8_t table, std::uint8_t flags, std::uint8_t field,
                    std::uint8_t column_flags, std::vector<std::uint64_t> values) {
  std::string payload;
  native::SectionWriter writer(payload, static_cast<native::Table>(table), values.size());
  writer.numbers(field, values);
  writer.finish();
  payload[1] = static_cast<char>(flags);
  payload[native::kSectionHeadBytes + 3] = static_cast<char>(column_flags);
  return payload;
}

std::string refusal(const std::string& bytes) {
  try {
    read_native_bytes(bytes);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

using native::ChunkKind;
using native::kRequired;

TEST(NativeChunks, SkipsWhatANewerMinorVersionAdds) {
  const NativeFile read =
      read_native_bytes(Made()
                            .chunk(static_cast<ChunkKind>(9), 0, "anything")
                            .chunk(ChunkKind::rows, 0, section(99, 0, 1, 0, {1}))
                            .events(1, 3)
                            .bytes());
  EXPECT_EQ(read.file.snapshot.events.count(), 3U);
  EXPECT_EQ(read.skipped_parts, 2U);
  const NativeFile column =
      read_native_bytes(Made().chunk(ChunkKind::rows, 0, section(7, 0, 31, 0, {1})).bytes());
  EXPECT_EQ(column.skipped_parts, 1U);
}

TEST(NativeChunks, RefusesWhatANewerVersionSaysMustBeKnown) {
  EXPECT_THAT(
      refusal(Made().chunk(static_cast<ChunkKind>(9), native::chunk_flag::kRequired, "x").bytes()),
      HasSubstr("newer strandline"));
  EXPECT_THAT(refusal(Made().chunk(ChunkKind::rows, 0, section(99, kRequired, 1, 0, {1})).bytes()),
              HasSubstr("table 99"));
  EXPECT_THAT(refusal(Made().chunk(ChunkKind::rows, 0, section(7, 0, 31, kRequired, {1})).bytes()),
              HasSubstr("table 7, field 31"));
  std::string head(native::kMagic);
  native::put(head, std::uint16_t{2});
  native::put(head, std::uint16_t{0});
  native::put(head, native::checksum(head));
  EXPECT_THAT(refusal(head), HasSubstr("got 2.0, expected 1.x"));
}

TEST(NativeChunks, RefusesNumbersThatNameNothing) {
  const auto events = [](std::uint8_t field, std::uint64_t value) {
    return refusal(Made()
                       .chunk(ChunkKind::rows, 0, section(16, 0, field, 0, {value}),
                              {.first_sequence = 1, .events = 1})
                       .bytes());
  };
  for (std::uint8_t field = 5; field <= 12; ++field) {
    EXPECT_THAT(events(field, 1), HasSubstr(fmt::format("field {}, row 0; got 1", field)));
  }
  EXPECT_THAT(events(13, 65536), HasSubstr("field 13"));
  EXPECT_THAT(events(14, 256), HasSubstr("field 14"));
  EXPECT_THAT(events(15, record::kActionCount), HasSubstr("field 15"));
  EXPECT_THAT(refusal(Made().chunk(ChunkKind::rows, 0, section(3, 0, 2, 0, {0})).bytes()),
              HasSubstr("stack"));
}

TEST(NativeChunks, HoldsCountsAgainstTheBytesThatAreThere) {
  std::string rows = section(16, 0, 1, 0, {1, 2});
  rows[4] = static_cast<char>(200);  // 200 rows in the bytes of two
  EXPECT_THAT(refusal(Made().chunk(ChunkKind::rows, 0, rows).bytes()), HasSubstr("200 rows"));
  EXPECT_THAT(
      refusal(Made().chunk(ChunkKind::rows, 0, section(16, 0, 1, 0, {1}), {1, 2, 0, 0}).bytes()),
      HasSubstr("the events of a chunk; got 1, expected 2"));
  EXPECT_THAT(refusal(Made().events(5, 2).events(6, 2).bytes()), HasSubstr("expected 7 or more"));
}

TEST(NativeChunks, CountsEventsThatAreMissingAndNumbersTheOthersWithoutGaps) {
  const NativeFile read = read_native_bytes(Made().events(10, 3).events(20, 2).bytes());
  EXPECT_EQ(read.missed_events, 7U);
  EXPECT_EQ(read.file.snapshot.first_sequence, 10U);
  ASSERT_EQ(read.file.snapshot.blocks.count(), 5U);
  EXPECT_EQ(read.file.snapshot.blocks.alloc_sequence[3], 13U) << "number 20 is the fourth";
  NativeFile again = read_native_bytes(Made().events(10, 3).events(20, 2).bytes());
  static_cast<void>(as_snapshot_file(std::move(again)));
  const std::vector<std::string> notes = take_reading_notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_THAT(notes[1], HasSubstr("7 events are missing"));
}

TEST(NativeChunks, NumbersOfAnyWidthComeBack) {
  const std::vector<std::vector<std::uint64_t>> columns{
      {0},
      {0, 0, 0},
      {UINT64_MAX},
      {0, UINT64_MAX, 1},
      {UINT64_MAX, 0, UINT64_MAX},
      {1ULL << 63, (1ULL << 63) - 1, 5},
      {1000, 1001, 1003, 1002},
      {static_cast<std::uint64_t>(-5), static_cast<std::uint64_t>(-6), 3},
  };
  for (const std::vector<std::uint64_t>& column : columns) {
    const std::string bytes = section(1, 0, 1, 0, column);
    std::string_view rest = bytes;
    const native::SectionView view = native::take_section(rest);
    std::vector<std::uint64_t> values;
    native::decode(view.columns.at(0), view.rows, values);
    EXPECT_EQ(values, column);
  }
}

}  // namespace
}  // namespace strandline::snapshot
