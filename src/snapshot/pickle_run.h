// SPDX-License-Identifier: Apache-2.0
// The short way through a pickle: a whole event, block, frame or annotation, as the official
// writers put it, read from its first byte to its last without the stack machine:
//
//   } ≡ ( key value key value … u          ≡: MEMOIZE, BINPUT or LONG_BINPUT of the next number, or
//   ] ≡ ( frame frame … e                     nothing
//
// and no more items behind that. Keys have to be those we know; values are numbers, texts, pairs of
// numbers, lists of frames, what the memo has. Anything else, a dictionary cut short included, is
// left to the machine, as if nothing had been read: only texts and frames interned meanwhile
// remain, which it would intern too.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "snapshot/pickle_cursor.h"
#include "snapshot/pickle_memo.h"
#include "snapshot/pickle_records.h"

namespace strandline::snapshot {

class PickleRun {
 public:
  PickleRun(PickleRecords& records, PickleMemo& memo) : records_(records), memo_(memo) {}

  /// From behind an EMPTY_DICT, which stands at byte `offset`, to behind its SETITEMS. The fields
  /// are then those of the records, and `slot` the entry the dictionary has in the memo, untouched
  /// without one. False leaves everything as it was.
  bool read(PickleCursor& in, std::uint64_t& slot, std::uint64_t offset);

 private:
  enum class Nesting : std::uint8_t { record, frame };

  bool dict(PickleCursor& in, std::uint64_t& slot, Nesting nesting);
  bool is_complete(PickleCursor in) const;
  bool key(PickleCursor& in, Key& key);
  bool value(PickleCursor& in, Key key, Nesting nesting, Value& value);
  bool number(PickleCursor& in, Value& value);
  bool text(PickleCursor& in, Key key, Value& value);
  bool pair(PickleCursor& in, Value first, Value& value);
  bool get(PickleCursor& in, Value& value) const;
  bool stack(PickleCursor& in, Value& value);
  bool frames(PickleCursor& in);
  bool frame(PickleCursor& in);
  bool single_frame(PickleCursor& in);
  bool put(PickleCursor& in, std::uint64_t& slot);
  bool put_number(PickleCursor& in);
  bool short_text(PickleCursor& in, Key key, Value& value);
  void known_frames(PickleCursor& in);
  void add_frame(std::uint32_t id);

  /// SHORT_BINUNICODE, its text and MEMOIZE as one number; 0 for none.
  struct ShortText {
    std::uint64_t bytes = 0;
    Value value;
  };

  PickleRecords& records_;
  PickleMemo& memo_;
  std::array<ShortText, kKeyCount> short_texts_{};
  std::vector<std::uint32_t> frames_;  // room for those of the stack at hand
  std::size_t count_ = 0;              // of them
  std::uint64_t hash_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t taken_ = 0;  // what was read this way and what was not: who never fits is not tried
  std::uint64_t left_ = 0;
};

}  // namespace strandline::snapshot
