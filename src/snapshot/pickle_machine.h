// SPDX-License-Identifier: Apache-2.0
// The stack machine of pickle protocols 0 to 5, fed piece by piece. Values are 64 bits; containers
// close into PickleRecords as soon as nothing can be added to them any more: when they become a
// part of another container or are named by the memo again, and a filled dictionary when a
// container begins right above it. However many items a writer hands over at once, they are one
// container.
//
//   stack_  one value each; the open containers among them stand in open_, lowest first
//   arena_  items of the open containers, one after another in the same order
//
// Dictionaries as the official writer has them are read in one go by PickleRun; the stack sees the
// others.
//
// Whatever would run code (globals, reduce, build, extensions, persistent ids, out-of-band buffers)
// is refused with its name. Depth and counts are held against the bytes read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/pickle_memo.h"
#include "snapshot/pickle_records.h"
#include "snapshot/pickle_run.h"

namespace strandline::snapshot {

class PickleMachine {
 public:
  explicit PickleMachine(PickleRecords& records) : records_(records), run_(records, memo_) {}

  /// So many bytes will come. Throws std::bad_alloc; nothing has happened then.
  void expect(std::uint64_t bytes);
  /// Bytes taken from the front of `bytes`; the rest, an opcode cut short, has to be handed in
  /// again with more behind it. All after the end of the pickle is left alone.
  std::size_t feed(std::string_view bytes);
  /// No more comes. Throws FormatError unless the pickle was whole.
  void finish();

  bool stopped() const noexcept { return stopped_; }

 private:
  static constexpr std::uint64_t kNoMemo = UINT64_MAX;

  struct Open {
    std::size_t position = 0;  // on the stack
    std::size_t begin = 0;     // of its items in the arena
    std::size_t items = 0;     // there
    std::uint64_t memo = kNoMemo;
    std::uint64_t serial = 0;
    bool is_dict = false;
    bool closed = false;
    ListState list;
  };

  using Cursor = PickleCursor;

  // Each false: the opcode is cut short.
  bool step(Cursor& in);
  bool step_number(Cursor& in);
  bool step_text(Cursor& in);
  bool step_line(Cursor& in);
  bool step_stack(Cursor& in);
  bool step_frame(Cursor& in);
  void line_value(std::string_view line);
  [[noreturn]] void refuse() const;

  void push(Value value);
  void close_below();
  bool whole_dict(Cursor& in);
  Value dict_value(std::span<const Value> pairs, std::size_t position);
  const Open* list_at(std::size_t position) const noexcept;
  const Open* list_around(std::size_t position, std::size_t& index) const noexcept;
  void locate_trace(std::size_t position);
  void open(bool is_dict);
  void close(Open& open);
  void close_from(std::size_t position);
  void cut_stack(std::size_t position);
  Open& target(std::size_t position, bool is_dict);

  std::size_t pop_mark();
  std::size_t floor() const noexcept { return marks_.empty() ? 0 : marks_.back(); }
  void need(std::size_t values) const;
  void set_items(std::size_t from);
  void append_items(std::size_t from);
  void make_tuple(std::size_t from);
  void make_container(std::size_t from, bool is_dict);

  void memoize(std::uint64_t number);
  void fetch(std::uint64_t number);

  [[noreturn]] void fail(std::string_view what, std::string_view got,
                         std::string_view expected) const;
  void grow_check(std::size_t count, std::string_view what) const;
  std::uint64_t offset() const noexcept { return base_ + static_cast<std::uint64_t>(at_ - begin_); }

  PickleRecords& records_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Open> open_;
  std::vector<Value> arena_;
  PickleMemo memo_;
  PickleRun run_;
  std::uint64_t lists_opened_ = 0;
  std::uint64_t base_ = 0;  // bytes before `begin_`
  const char* begin_ = nullptr;
  const char* at_ = nullptr;  // the opcode at hand
  unsigned char opcode_ = 0;
  bool stopped_ = false;
};

}  // namespace strandline::snapshot
