// SPDX-License-Identifier: Apache-2.0
// Pickle protocol 4, the opcodes memory_viz knows and no others, straight into a byte buffer.
//
//   PROTO 4 … STOP; containers by EMPTY_DICT MARK k v … SETITEMS and EMPTY_LIST MARK x … APPENDS,
//   lists in batches of 1000, as readers spread a batch over their stack
//
// MEMOIZE numbers what it keeps from 0 on; `get` brings it back in 2 or 5 bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "snapshot/byte_output.h"

namespace strandline::snapshot {

/// What MEMOIZE kept, by number; none until written.
struct Memo {
  std::uint32_t plus_one = 0;
  constexpr explicit operator bool() const { return plus_one != 0; }
};

class PickleEncoder {
 public:
  static constexpr std::size_t kBatch = 1000;

  explicit PickleEncoder(ByteOutput& output)
      : output_(output), buffer_(new char[kBufferBytes]), at_(buffer_.get()) {
    raw("\x80\x04", 2);
  }

  void none() { opcode('N'); }
  void boolean(bool value) { opcode(value ? '\x88' : '\x89'); }
  void empty_dict() { opcode('}'); }
  void empty_list() { opcode(']'); }
  void mark() { opcode('('); }
  void set_items() { opcode('u'); }
  void appends() { opcode('e'); }
  void tuple2() { opcode('\x86'); }

  void integer(std::uint64_t value) { at_ = put_integer(room(kIntegerBytes), value); }
  void integer(std::int64_t value) {
    if (value >= 0) return integer(static_cast<std::uint64_t>(value));
    const auto bits = static_cast<std::uint64_t>(value);
    at_ = put_long(room(kIntegerBytes), bits, static_cast<unsigned>(std::bit_width(~bits)) / 8 + 1);
  }
  void integer(std::uint32_t value) { integer(static_cast<std::uint64_t>(value)); }

  void real(double value) {
    char* to = room(9);
    to[0] = 'G';
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) to[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
    at_ += 9;
  }

  /// Valid UTF-8 stays as it is; other bytes become U+FFFD.
  void text(std::string_view utf8);

  Memo memoize() {
    opcode('\x94');
    return Memo{++memoized_};
  }

  void get(Memo memo) { at_ = put_get(room(5), memo); }

  // -- many in a row, without asking for room at each -------------------------------------------

  static constexpr std::size_t kBurstBytes = 256;
  /// Where up to `kBurstBytes` may be put; `end_burst` says how far they went.
  char* begin_burst() { return room(kBurstBytes); }
  void end_burst(char* end) { at_ = end; }

  static char* put(char* to, char code) {
    *to = code;
    return to + 1;
  }
  static char* put_get(char* to, Memo memo) {
    const std::uint32_t number = memo.plus_one - 1;
    if (number <= 0xFF) {
      to[0] = 'h';
      to[1] = static_cast<char>(number);
      return to + 2;
    }
    to[0] = 'j';
    little_endian(to + 1, number);
    return to + 5;
  }
  /// At most `kIntegerBytes` are touched.
  static char* put_integer(char* to, std::uint64_t value) {
    if (value <= INT32_MAX) return put_small(to, static_cast<std::uint32_t>(value));
    // Two's complement: a leading zero byte where the top bit is set.
    return put_long(to, value, static_cast<unsigned>(std::bit_width(value)) / 8 + 1);
  }

  /// Ends the pickle and hands everything to the output.
  void stop() {
    opcode('.');
    flush();
  }

 private:
  static constexpr std::size_t kBufferBytes = 1U << 18;

  char* room(std::size_t bytes) {
    if (static_cast<std::size_t>(buffer_.get() + kBufferBytes - at_) < bytes) flush();
    return at_;
  }
  void flush() {
    output_.write({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
    at_ = buffer_.get();
  }
  void opcode(char code) {
    *room(1) = code;
    ++at_;
  }
  void raw(const char* bytes, std::size_t count) {
    std::memcpy(room(count), bytes, count);
    at_ += count;
  }
  void raw_text(std::string_view utf8);

  template <typename Integer>
  static void little_endian(char* to, Integer value) {
    for (std::size_t i = 0; i < sizeof(value); ++i) to[i] = static_cast<char>(value >> (8 * i));
  }

  static constexpr std::size_t kIntegerBytes = 11;

  static char* put_small(char* to, std::uint32_t value) {
    if (value <= 0xFF) {
      to[0] = 'K';
      to[1] = static_cast<char>(value);
      return to + 2;
    }
    if (value <= 0xFFFF) {
      to[0] = 'M';
      little_endian(to + 1, static_cast<std::uint16_t>(value));
      return to + 3;
    }
    to[0] = 'J';
    little_endian(to + 1, value);
    return to + 5;
  }

  /// The low `bytes` (at most 9) bytes; the ninth is the sign of an unsigned value, 0.
  static char* put_long(char* to, std::uint64_t bits, unsigned bytes) {
    to[0] = '\x8a';
    to[1] = static_cast<char>(bytes);
    little_endian(to + 2, bits);
    to[10] = 0;
    return to + 2 + bytes;
  }

  ByteOutput& output_;
  std::unique_ptr<char[]> buffer_;
  char* at_;
  std::uint32_t memoized_ = 0;
};

/// A list under construction; `next` before each element, `end` after the last.
class PickleList {
 public:
  explicit PickleList(PickleEncoder& encoder) : encoder_(encoder) { encoder_.empty_list(); }

  void next() {
    if (in_batch_ == PickleEncoder::kBatch) end();
    if (in_batch_++ == 0) encoder_.mark();
  }
  void end() {
    if (in_batch_ != 0) encoder_.appends();
    in_batch_ = 0;
  }

 private:
  PickleEncoder& encoder_;
  std::size_t in_batch_ = 0;
};

}  // namespace strandline::snapshot
