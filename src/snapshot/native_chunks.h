// SPDX-License-Identifier: Apache-2.0
// Chunks into a file and out of one. Payloads are compressed by zstd, each on its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/byte_output.h"
#include "snapshot/native_format.h"
#include "snapshot/native_rows.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace strandline::snapshot::native {

/// What the index says of a chunk beside its place.
struct ChunkFacts {
  std::uint64_t first_sequence = 0;
  std::uint32_t events = 0;
  std::int64_t first_us = 0;
  std::int64_t last_us = 0;
};

/// Each chunk goes to the output in one write, after it is complete in memory.
class ChunkWriter {
 public:
  ChunkWriter(ByteOutput& output, int level);
  ~ChunkWriter();
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  void write_file_head();
  void write(ChunkKind kind, std::uint16_t flags, std::string_view payload,
             const ChunkFacts& facts = {});
  /// Index and trailer: the file is closed.
  void write_index();

  std::uint64_t bytes_written() const noexcept { return at_; }
  std::uint32_t chunks() const noexcept { return chunks_; }

 private:
  void emit(std::string_view bytes);
  void note(const ChunkFacts& facts);

  ByteOutput& output_;
  int level_;
  ZSTD_CCtx_s* context_;
  std::string buffer_;
  std::uint64_t at_ = 0;
  std::uint32_t chunks_ = 0;
  std::vector<IndexRow> index_;  // every `stride_`-th chunk with events begins an entry
  std::uint64_t stride_ = 1;
  std::uint64_t noted_ = 0;
};

/// Chunks of a file in memory, in turn.
class ChunkScanner {
 public:
  /// Throws FormatError for what is no native file, or one of another major version.
  explicit ChunkScanner(std::string_view file);
  ~ChunkScanner();
  ChunkScanner(const ChunkScanner&) = delete;
  ChunkScanner& operator=(const ChunkScanner&) = delete;

  /// The next whole chunk and its payload, which lasts until the next call; false at the end or
  /// where the file is cut. Throws FormatError for a damaged chunk that others follow.
  bool next(ChunkHead& head, std::string_view& payload);

  std::uint16_t minor() const noexcept { return minor_; }
  std::uint64_t offset() const noexcept { return chunk_at_; }  ///< of the chunk last given
  std::uint64_t whole_bytes() const noexcept { return at_; }   ///< up to the last whole chunk
  std::uint64_t cut_bytes() const noexcept { return file_.size() - at_; }
  std::uint32_t chunks() const noexcept { return chunks_; }
  /// Checks what follows the index.
  void finish();

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view got,
                         std::string_view expected) const;
  void check(const ChunkHead& head) const;
  std::string_view unpack(const ChunkHead& head, std::string_view stored);

  std::string_view file_;
  std::uint64_t at_ = 0;
  std::uint64_t chunk_at_ = 0;
  std::uint32_t chunks_ = 0;
  std::uint16_t minor_ = 0;
  ZSTD_DCtx_s* context_ = nullptr;
  std::string buffer_;
};

}  // namespace strandline::snapshot::native
