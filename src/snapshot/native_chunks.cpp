// SPDX-License-Identifier: Apache-2.0
// Writing chunks with their index, scanning them with their checksums.
#include "snapshot/native_chunks.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <zstd.h>

#include "strandline/core/error.h"

namespace strandline::snapshot::native {
namespace {

constexpr std::size_t kMostIndexRows = 4096;

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

ChunkWriter::ChunkWriter(ByteOutput& output, int level)
    : output_(output), level_(level), context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
}

ChunkWriter::~ChunkWriter() {
  ZSTD_freeCCtx(context_);
}

void ChunkWriter::emit(std::string_view bytes) {
  output_.write(bytes);
  at_ += bytes.size();
}

void ChunkWriter::write_file_head() {
  emit(encode_file_head());
}

void ChunkWriter::write(ChunkKind kind, std::uint16_t flags, std::string_view payload,
                        const ChunkFacts& facts) {
  if (payload.size() > kMaxRawBytes) {
    throw InvalidArgument(error_message("write_native", "a chunk is too large for the format",
                                        fmt::format("{} bytes", payload.size()),
                                        "texts and tables of at most 1 GiB"));
  }
  const std::size_t bound = ZSTD_compressBound(payload.size());
  buffer_.resize(kChunkHeadBytes + bound);
  char* const body = buffer_.data() + kChunkHeadBytes;
  std::size_t size =
      ZSTD_compressCCtx(context_, body, bound, payload.data(), payload.size(), level_);
  Codec codec = Codec::zstd;
  if (ZSTD_isError(size) != 0 || size >= payload.size() || raw_bound(size) < payload.size()) {
    codec = Codec::stored;
    size = payload.size();
    std::copy(payload.begin(), payload.end(), body);
  }
  const std::string head = encode({.kind = static_cast<std::uint8_t>(kind),
                                   .codec = static_cast<std::uint8_t>(codec),
                                   .flags = flags,
                                   .stored_bytes = static_cast<std::uint32_t>(size),
                                   .raw_bytes = static_cast<std::uint32_t>(payload.size()),
                                   .first_sequence = facts.first_sequence,
                                   .events = facts.events,
                                   .number = chunks_,
                                   .checksum = checksum({body, size})});
  std::copy(head.begin(), head.end(), buffer_.begin());
  note(facts);
  emit({buffer_.data(), kChunkHeadBytes + size});
  ++chunks_;
}

/// The index stays small however long a run is: past the bound its entries cover twice as much.
void ChunkWriter::note(const ChunkFacts& facts) {
  if (facts.events == 0) return;
  if (noted_++ % stride_ != 0) {
    index_.back().events += facts.events;
    index_.back().last_us = facts.last_us;
    return;
  }
  if (index_.size() == kMostIndexRows) {
    for (std::size_t i = 0; i < kMostIndexRows / 2; ++i) {
      index_[i] = index_[2 * i];
      index_[i].events += index_[2 * i + 1].events;
      index_[i].last_us = index_[2 * i + 1].last_us;
    }
    index_.resize(kMostIndexRows / 2);
    stride_ *= 2;
  }
  index_.push_back({.offset = at_,
                    .first_sequence = facts.first_sequence,
                    .events = facts.events,
                    .first_us = facts.first_us,
                    .last_us = facts.last_us});
}

void ChunkWriter::write_index() {
  RowBuffer<IndexRow> rows;
  for (const IndexRow& row : index_) rows.add(row);
  std::string payload;
  rows.write(payload, Table::index);
  const std::uint64_t offset = at_;
  write(ChunkKind::index, 0, payload);
  emit(encode_trailer(offset));
}

ChunkScanner::ChunkScanner(std::string_view file) : file_(file), context_(ZSTD_createDCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  if (file.size() < kFileHeadBytes || !file.starts_with(kMagic) ||
      get<std::uint32_t>(file, 12) != checksum(file.substr(0, 12))) {
    ZSTD_freeDCtx(context_);
    fail("the head of a native file", file.size() < kFileHeadBytes ? "too few bytes" : "damage",
         "its 16 bytes");
  }
  const auto major = get<std::uint16_t>(file, 8);
  minor_ = get<std::uint16_t>(file, 10);
  if (major != kMajor) {
    ZSTD_freeDCtx(context_);
    fail("the version of a native file", fmt::format("{}.{}", major, minor_),
         fmt::format("{}.x: a newer strandline reads it", kMajor));
  }
  at_ = kFileHeadBytes;
}

ChunkScanner::~ChunkScanner() {
  ZSTD_freeDCtx(context_);
}

void ChunkScanner::fail(std::string_view what, std::string_view got,
                        std::string_view expected) const {
  throw FormatError(error_message("read_snapshot", what, got, expected), at_);
}

bool ChunkScanner::next(ChunkHead& head, std::string_view& payload) {
  const std::string_view rest = file_.substr(static_cast<std::size_t>(at_));
  if (rest.size() < kChunkHeadBytes) return false;
  const std::optional<ChunkHead> found = decode_chunk_head(rest.substr(0, kChunkHeadBytes));
  if (!found) {
    // A system that went down may leave room that was never written.
    if (all_zero(rest)) return false;
    fail("the head of a chunk", "damage", "its mark and checksum");
  }
  head = *found;
  check(head);
  const std::string_view body = rest.substr(kChunkHeadBytes);
  if (head.stored_bytes > body.size()) return false;
  const std::string_view stored = body.substr(0, head.stored_bytes);
  if (checksum(stored) != head.checksum) {
    if (all_zero(body.substr(head.stored_bytes))) return false;
    fail("a chunk", "a wrong checksum", fmt::format("{:08x}", head.checksum));
  }
  payload = unpack(head, stored);
  chunk_at_ = at_;
  at_ += kChunkHeadBytes + head.stored_bytes;
  ++chunks_;
  return true;
}

void ChunkScanner::check(const ChunkHead& head) const {
  if (head.number != chunks_) {
    fail("the number of a chunk", fmt::format("{}", head.number), fmt::format("{}", chunks_));
  }
  if (head.codec > static_cast<std::uint8_t>(Codec::zstd)) {
    fail("the codec of a chunk", fmt::format("{}", head.codec), "0 (stored) or 1 (zstd)");
  }
  const bool is_stored = head.codec == static_cast<std::uint8_t>(Codec::stored);
  if (is_stored ? head.raw_bytes != head.stored_bytes
                : head.raw_bytes > kMaxRawBytes || head.raw_bytes > raw_bound(head.stored_bytes)) {
    fail("the unpacked size of a chunk", fmt::format("{}", head.raw_bytes),
         fmt::format("what {} bytes can hold", head.stored_bytes));
  }
}

std::string_view ChunkScanner::unpack(const ChunkHead& head, std::string_view stored) {
  if (head.codec == static_cast<std::uint8_t>(Codec::stored)) return stored;
  if (buffer_.size() < head.raw_bytes) buffer_.resize(head.raw_bytes);
  const std::size_t size =
      ZSTD_decompressDCtx(context_, buffer_.data(), head.raw_bytes, stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) fail("a chunk", ZSTD_getErrorName(size), "zstd data");
  if (size != head.raw_bytes) {
    fail("a chunk", fmt::format("{} bytes", size), fmt::format("{}", head.raw_bytes));
  }
  return {buffer_.data(), size};
}

void ChunkScanner::finish() {
  const std::string_view rest = file_.substr(static_cast<std::size_t>(at_));
  if (rest.size() < kTrailerBytes) return;  // cut within the trailer: all chunks are there
  const auto index = decode_trailer(rest.substr(0, kTrailerBytes));
  if (!index || *index != chunk_at_ || rest.size() != kTrailerBytes) {
    fail("the end of a native file", "other bytes after the index", "a trailer");
  }
  at_ += kTrailerBytes;
}

}  // namespace strandline::snapshot::native
