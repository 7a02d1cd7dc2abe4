// SPDX-License-Identifier: Apache-2.0
// gzip by zlib, zstd by libzstd, both piece by piece.
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "snapshot/pickle_feed.h"
#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

[[noreturn]] void fail(std::string_view what, std::string_view got, std::uint64_t offset) {
  throw FormatError(error_message("read_snapshot", what, got, "whole data"), offset);
}

class GzipReader final : public ByteSink {
 public:
  explicit GzipReader(ByteSink& target) : target_(target), piece_(kPiece, '\0') {
    // 16: gzip, no other wrapping; 15: any window.
    if (inflateInit2(&stream_, 16 + 15) != Z_OK) fail("zlib", "no memory", 0);
  }
  ~GzipReader() override { inflateEnd(&stream_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  void write(std::string_view bytes) override {
    // zlib counts in 32 bits.
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kMost, bytes.size()))) {
      unpack(bytes.substr(0, kMost));
    }
  }

  void finish() override {
    if (!between_members_) fail("gzip data cut short", "its end", taken_);
  }

 private:
  void unpack(std::string_view bytes) {
    // zlib's interface is not const; it does not write there.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    bool is_full = false;
    while (stream_.avail_in > 0 || is_full) {
      if (between_members_ && !begin_member(bytes)) return;
      stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
      stream_.avail_out = static_cast<uInt>(piece_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      is_full = stream_.avail_out == 0;
      target_.write(std::string_view(piece_).substr(0, piece_.size() - stream_.avail_out));
      between_members_ = result == Z_STREAM_END;
      if (between_members_) is_full = false;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        fail("damaged gzip data", stream_.msg != nullptr ? stream_.msg : "an error",
             taken_ + bytes.size() - stream_.avail_in);
      }
      if (result == Z_BUF_ERROR) break;
    }
    taken_ += bytes.size();
  }

  /// Zeros after the last member pad it; false when nothing else follows.
  bool begin_member(std::string_view bytes) {
    if (started_ && *stream_.next_in == 0) {
      taken_ += bytes.size();
      return false;
    }
    if (started_) inflateReset(&stream_);
    started_ = true;
    between_members_ = false;
    return true;
  }

  ByteSink& target_;
  std::string piece_;
  z_stream stream_{};
  std::uint64_t taken_ = 0;
  bool between_members_ = true;
  bool started_ = false;
};

class ZstdReader final : public ByteSink {
 public:
  explicit ZstdReader(ByteSink& target)
      : target_(target), piece_(ZSTD_DStreamOutSize(), '\0'), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) fail("zstd", "no memory", 0);
  }
  ~ZstdReader() override { ZSTD_freeDStream(stream_); }
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  void write(std::string_view bytes) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool is_full = false;
    while (in.pos < in.size || is_full) {
      ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
      const std::size_t result = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(result) != 0) {
        fail("damaged zstd data", ZSTD_getErrorName(result), taken_ + in.pos);
      }
      is_full = out.pos == out.size;
      wanted_ = result;
      target_.write(std::string_view(piece_).substr(0, out.pos));
    }
    taken_ += bytes.size();
  }

  void finish() override {
    if (wanted_ != 0) fail("zstd data cut short", "its end", taken_);
  }

 private:
  ByteSink& target_;
  std::string piece_;
  ZSTD_DStream* stream_;
  std::uint64_t taken_ = 0;
  std::size_t wanted_ = 1;  // 0 between frames
};

}  // namespace

std::unique_ptr<ByteSink> gzip_reader(ByteSink& target) {
  return std::make_unique<GzipReader>(target);
}

std::unique_ptr<ByteSink> zstd_reader(ByteSink& target) {
  return std::make_unique<ZstdReader>(target);
}

}  // namespace strandline::snapshot
