// SPDX-License-Identifier: Apache-2.0
// The bytes of a native file (.slt) around its columns; docs/slt-format.md draws them all.
// Numbers are little-endian.
//
//   file    = head (16), chunk…, and when it was closed: index chunk, trailer (16)
//   chunk   = head (40), payload as stored
//   payload = section…                     one table's rows each, columns by field number
//
// A chunk is whole when its head and its payload have the checksums they say. What follows the last
// whole chunk is what a writer was at when it was killed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strandline::snapshot::native {

inline constexpr std::string_view kMagic{"\x89SLT\r\n\x1a\n", 8};
inline constexpr std::uint16_t kMajor = 1;  ///< another one is refused
inline constexpr std::uint16_t kMinor = 0;  ///< larger ones are read, what is new is skipped
inline constexpr std::size_t kFileHeadBytes = 16;
inline constexpr std::size_t kChunkHeadBytes = 40;
inline constexpr std::size_t kTrailerBytes = 16;
inline constexpr std::size_t kSectionHeadBytes = 12;
inline constexpr std::size_t kColumnHeadBytes = 8;

/// Bounds that readers hold a chunk to, so that few bytes do not become much memory.
inline constexpr std::uint64_t kMaxRawBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxRatio = 256;
constexpr std::uint64_t raw_bound(std::uint64_t stored_bytes) noexcept {
  return 4096 + stored_bytes * kMaxRatio;
}

inline constexpr std::size_t kRowsPerChunk = 32'768;

enum class ChunkKind : std::uint8_t { rows = 1, state = 2, index = 3 };
enum class Codec : std::uint8_t { stored = 0, zstd = 1 };

namespace chunk_flag {
inline constexpr std::uint16_t kRequired = 1;  ///< who does not know the kind must refuse the file
inline constexpr std::uint16_t kFirst = 2;     ///< of a state, which may take several chunks
inline constexpr std::uint16_t kLast = 4;
}  // namespace chunk_flag

struct ChunkHead {
  std::uint8_t kind = 0;
  std::uint8_t codec = 0;
  std::uint16_t flags = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;
  std::uint64_t first_sequence = 0;  ///< number of the first event
  std::uint32_t events = 0;
  std::uint32_t number = 0;  ///< of the chunk in its file, from 0
  std::uint32_t checksum = 0;
};

enum class Table : std::uint8_t {
  strings = 1,
  frames = 2,
  stacks = 3,
  layouts = 4,
  dimensions = 5,
  streams = 6,
  pools = 7,
  events = 16,
  host_events = 17,
  extras = 18,
  segments = 32,
  blocks = 33,
  host_segments = 34,
  host_blocks = 35,
  peak_capacity = 36,
  peak_requested = 37,
  phases = 38,
  annotations = 39,
  traces = 40,
  unknown_keys = 41,
  facts = 42,
  texts = 43,
  counters = 44,
  index = 64,
};

/// Of a section or a column: who does not know it must refuse the file.
inline constexpr std::uint8_t kRequired = 1;

enum class Coding : std::uint8_t { plain = 0, delta = 1, bytes = 2 };

/// Values by number in the table `facts`.
enum class Fact : std::uint16_t {
  form = 1,  ///< 0: as the recorder writes events, 1: as PyTorch's files have them
  first_sequence = 2,
  next_sequence = 3,  ///< of the first event that is not part of the state
  taken_us = 4,
  start_us = 5,
  max_entries = 6,
  min_size = 7,
  stacks = 8,
  skipped_values = 9,
  peak_bytes = 16,  ///< four a measure: bytes, sequence, time, cached
  peak_sequence = 17,
  peak_time_us = 18,
  peak_cached = 19,
  events_overwritten = 32,
  allocs_while_off = 33,
  dropped_below_min_size = 34,
  dropped_bytes = 35,
  orphan_frees = 36,
  double_allocs = 37,
  unknown_binds = 38,
  tracebacks_truncated = 39,
  ids_refused = 40,
  phases_refused = 41,
  sink_events_missed = 42,
  forks = 43,
};

/// Texts by number in the table `texts`.
enum class Text : std::uint16_t { fault = 1, settings = 2, key = 3 };

enum class Form : std::uint8_t { recorded = 0, file = 1 };

template <typename Integer>
void put(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

/// The integer at `at`, which must be inside.
template <typename Integer>
Integer get(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return static_cast<Integer>(value);
}

std::uint32_t checksum(std::string_view bytes) noexcept;

std::string encode_file_head();
std::string encode(const ChunkHead& head);
/// None where the bytes, `kChunkHeadBytes` of them, are no head.
std::optional<ChunkHead> decode_chunk_head(std::string_view bytes) noexcept;
std::string encode_trailer(std::uint64_t index_offset);
/// The offset of the index; none where these are no trailer.
std::optional<std::uint64_t> decode_trailer(std::string_view bytes) noexcept;

}  // namespace strandline::snapshot::native
