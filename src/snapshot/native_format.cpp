// SPDX-License-Identifier: Apache-2.0
// Heads and trailer of a native file, with their checksums.
#include "snapshot/native_format.h"

#include <zlib.h>

namespace strandline::snapshot::native {
namespace {

constexpr std::string_view kChunkMark = "SLTc";
constexpr std::string_view kTrailerMark = "SLTe";

}  // namespace

std::uint32_t checksum(std::string_view bytes) noexcept {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string encode_file_head() {
  std::string out(kMagic);
  put(out, kMajor);
  put(out, kMinor);
  put(out, checksum(out));
  return out;
}

std::string encode(const ChunkHead& head) {
  std::string out(kChunkMark);
  put(out, head.kind);
  put(out, head.codec);
  put(out, head.flags);
  put(out, head.stored_bytes);
  put(out, head.raw_bytes);
  put(out, head.first_sequence);
  put(out, head.events);
  put(out, head.number);
  put(out, head.checksum);
  put(out, checksum(out));
  return out;
}

std::optional<ChunkHead> decode_chunk_head(std::string_view bytes) noexcept {
  if (!bytes.starts_with(kChunkMark)) return std::nullopt;
  constexpr std::size_t kSigned = kChunkHeadBytes - 4;
  if (get<std::uint32_t>(bytes, kSigned) != checksum(bytes.substr(0, kSigned))) return std::nullopt;
  return ChunkHead{.kind = get<std::uint8_t>(bytes, 4),
                   .codec = get<std::uint8_t>(bytes, 5),
                   .flags = get<std::uint16_t>(bytes, 6),
                   .stored_bytes = get<std::uint32_t>(bytes, 8),
                   .raw_bytes = get<std::uint32_t>(bytes, 12),
                   .first_sequence = get<std::uint64_t>(bytes, 16),
                   .events = get<std::uint32_t>(bytes, 24),
                   .number = get<std::uint32_t>(bytes, 28),
                   .checksum = get<std::uint32_t>(bytes, 32)};
}

std::string encode_trailer(std::uint64_t index_offset) {
  std::string out;
  put(out, index_offset);
  put(out, checksum(out));
  out += kTrailerMark;
  return out;
}

std::optional<std::uint64_t> decode_trailer(std::string_view bytes) noexcept {
  if (!bytes.ends_with(kTrailerMark)) return std::nullopt;
  if (get<std::uint32_t>(bytes, 8) != checksum(bytes.substr(0, 8))) return std::nullopt;
  return get<std::uint64_t>(bytes, 0);
}

}  // namespace strandline::snapshot::native
