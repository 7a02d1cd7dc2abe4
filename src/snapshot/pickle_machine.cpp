// SPDX-License-Identifier: Apache-2.0
// Opcodes: the frequent ones in one switch, the others by groups.
#include "snapshot/pickle_machine.h"

#include <bit>

#include <fmt/format.h>

#include "snapshot/pickle_opcode.h"
#include "snapshot/pickle_text.h"
#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

constexpr std::size_t kLongestLine = std::size_t{16} << 20;

// What an event and an entry of the memo take at least in most files. Room beyond what comes costs
// addresses, no memory.
constexpr std::uint64_t kBytesOfEvent = 128;
constexpr std::uint64_t kBytesOfMemo = 64;

}  // namespace

void PickleMachine::expect(std::uint64_t bytes) {
  records_.expect_events(static_cast<std::size_t>(bytes / kBytesOfEvent));
  memo_.reserve(bytes / kBytesOfMemo);
}

std::size_t PickleMachine::feed(std::string_view bytes) {
  Cursor in{bytes.data(), bytes.data() + bytes.size()};
  begin_ = in.at;
  at_ = in.at;
  try {
    while (!stopped_ && in.at != in.end) {
      at_ = in.at;
      opcode_ = static_cast<unsigned char>(*in.at++);
      if (step(in)) continue;
      in.at = at_;
      break;
    }
  } catch (const RecordError& error) {
    fail(error.what, error.got, error.expected);
  }
  const auto taken = static_cast<std::size_t>(in.at - begin_);
  base_ += taken;
  begin_ = nullptr;
  at_ = nullptr;
  return taken;
}

void PickleMachine::finish() {
  if (stopped_) return;
  throw FormatError(error_message("read_snapshot", "a pickle cut short",
                                  fmt::format("its end at byte {}", base_), "STOP"),
                    base_);
}

bool PickleMachine::step(Cursor& in) {
  switch (opcode_) {
    case opcode::binget:
      if (!in.has(1)) return false;
      fetch(in.number(1));
      return true;
    case opcode::long_binget:
      if (!in.has(4)) return false;
      fetch(in.number(4));
      return true;
    case opcode::memoize:
      memoize(memo_.size());
      return true;
    case opcode::mark:
      if (marks_.size() == marks_.capacity()) grow_check(marks_.size(), "marks");
      marks_.push_back(stack_.size());
      return true;
    case opcode::empty_dict:
      if (!whole_dict(in)) open(true);
      return true;
    case opcode::empty_list:
    case opcode::empty_set:
      open(false);
      return true;
    case opcode::setitems:
      set_items(pop_mark());
      return true;
    case opcode::appends:
    case opcode::additems:
      append_items(pop_mark());
      return true;
    case opcode::binint1:
    case opcode::binint2:
    case opcode::binint:
    case opcode::long1:
    case opcode::long4:
    case opcode::binfloat:
      return step_number(in);
    default:
      return step_text(in);
  }
}

bool PickleMachine::step_number(Cursor& in) {
  switch (opcode_) {
    case opcode::binint1:
      if (!in.has(1)) return false;
      push(Value::integer(static_cast<std::int64_t>(in.number(1))));
      return true;
    case opcode::binint2:
      if (!in.has(2)) return false;
      push(Value::integer(static_cast<std::int64_t>(in.number(2))));
      return true;
    case opcode::binint:
      if (!in.has(4)) return false;
      push(Value::integer(static_cast<std::int32_t>(in.number(4))));
      return true;
    case opcode::long1: {
      std::string_view bytes;
      if (!in.text(1, bytes)) return false;
      push(records_.integer(bytes));
      return true;
    }
    case opcode::long4: {
      if (!in.has(4)) return false;
      const auto length = static_cast<std::int32_t>(in.number(4));
      if (length < 0) fail("the length of LONG4", fmt::format("{}", length), "0 or more");
      if (!in.has(static_cast<std::uint64_t>(length))) return false;
      push(records_.integer(in.take(static_cast<std::size_t>(length))));
      return true;
    }
    default: {
      if (!in.has(8)) return false;
      std::uint64_t bits = in.number(8);
      bits = __builtin_bswap64(bits);
      push(records_.real(std::bit_cast<double>(bits)));
      return true;
    }
  }
}

bool PickleMachine::step_text(Cursor& in) {
  std::size_t length_bytes = 0;
  switch (opcode_) {
    case opcode::short_binunicode:
    case opcode::short_binstring:
    case opcode::short_binbytes:
      length_bytes = 1;
      break;
    case opcode::binunicode:
    case opcode::binstring:
    case opcode::binbytes:
      length_bytes = 4;
      break;
    case opcode::binunicode8:
    case opcode::binbytes8:
    case opcode::bytearray8:
      length_bytes = 8;
      break;
    default:
      return step_stack(in);
  }
  std::string_view text;
  if (!in.text(length_bytes, text)) return false;
  push(records_.text(text));
  return true;
}

bool PickleMachine::step_stack(Cursor& in) {
  switch (opcode_) {
    case opcode::none:
      push({ValueKind::none, 0});
      return true;
    case opcode::newtrue:
    case opcode::newfalse:
      push({ValueKind::boolean, opcode_ == opcode::newtrue ? 1U : 0U});
      return true;
    case opcode::tuple1:
    case opcode::tuple2:
    case opcode::tuple3: {
      const auto values = static_cast<std::size_t>(opcode_ - opcode::tuple1 + 1);
      need(values);
      make_tuple(stack_.size() - values);
      return true;
    }
    case opcode::tuple:
    case opcode::frozenset:
      make_tuple(pop_mark());
      return true;
    case opcode::empty_tuple:
      push({ValueKind::empty_list, 0});
      return true;
    case opcode::setitem:
      need(2);
      set_items(stack_.size() - 2);
      return true;
    case opcode::append:
      need(1);
      append_items(stack_.size() - 1);
      return true;
    case opcode::list:
    case opcode::dict:
      make_container(pop_mark(), opcode_ == opcode::dict);
      return true;
    case opcode::pop:
      // On an empty stretch it takes the mark away.
      if (stack_.size() == floor() && !marks_.empty()) {
        marks_.pop_back();
      } else {
        need(1);
        cut_stack(stack_.size() - 1);
      }
      return true;
    case opcode::pop_mark:
      cut_stack(pop_mark());
      return true;
    case opcode::dup: {
      need(1);
      close_from(stack_.size() - 1);
      push(stack_.back());
      return true;
    }
    default:
      return step_frame(in);
  }
}

bool PickleMachine::step_frame(Cursor& in) {
  switch (opcode_) {
    case opcode::binput:
    case opcode::long_binput: {
      const std::size_t bytes = opcode_ == opcode::binput ? 1 : 4;
      if (!in.has(bytes)) return false;
      memoize(in.number(bytes));
      return true;
    }
    case opcode::proto: {
      if (!in.has(1)) return false;
      const std::uint64_t version = in.number(1);
      if (version > 5) fail("the pickle protocol", fmt::format("{}", version), "0 to 5");
      return true;
    }
    case opcode::frame:
      if (!in.has(8)) return false;
      in.take(8);
      return true;
    case opcode::readonly_buffer:
      return true;
    case opcode::stop:
      need(1);
      close_from(stack_.size() - 1);
      records_.finish(stack_.back());
      stopped_ = true;
      return true;
    default:
      return step_line(in);
  }
}

bool PickleMachine::step_line(Cursor& in) {
  switch (opcode_) {
    case opcode::float_line:
    case opcode::int_line:
    case opcode::long_line:
    case opcode::string_line:
    case opcode::unicode_line:
    case opcode::get_line:
    case opcode::put_line: {
      std::string_view line;
      if (!in.line(line)) {
        if (!in.has(kLongestLine)) return false;
        fail("a line of text", fmt::format("none in {} bytes", kLongestLine), "a shorter one");
      }
      line_value(line);
      return true;
    }
    default:
      refuse();
  }
}

void PickleMachine::line_value(std::string_view line) {
  const auto number = [&] {
    if (const auto parsed = decimal_number(line)) return *parsed;
    fail("the number of a memo", fmt::format("\"{}\"", line.substr(0, 40)), "decimal digits");
  };
  switch (opcode_) {
    case opcode::get_line:
      return fetch(number());
    case opcode::put_line:
      return memoize(number());
    case opcode::float_line: {
      const auto real = decimal_real(line);
      if (!real) fail("FLOAT", fmt::format("\"{}\"", line.substr(0, 40)), "a decimal number");
      return push(records_.real(*real));
    }
    case opcode::int_line:
      if (line == "00" || line == "01") return push({ValueKind::boolean, line == "01" ? 1U : 0U});
      return push(records_.decimal(line));
    case opcode::long_line:
      if (line.ends_with('L')) line.remove_suffix(1);
      return push(records_.decimal(line));
    case opcode::string_line:
      return push(records_.text(unquoted_string(line)));
    default:
      return push(records_.text(unescaped_unicode(line)));
  }
}

void PickleMachine::refuse() const {
  const std::string_view name = opcode::refused_name(opcode_);
  if (!name.empty()) {
    fail(fmt::format("the opcode {} (0x{:02x}) is refused: a snapshot has no code to run", name,
                     opcode_),
         fmt::format("it at byte {}", offset()), "plain data");
  }
  fail("an opcode", fmt::format("0x{:02x} at byte {}", opcode_, offset()),
       "one of pickle protocols 0 to 5");
}

void PickleMachine::fail(std::string_view what, std::string_view got,
                         std::string_view expected) const {
  throw FormatError(error_message("read_snapshot", what, got, expected), offset());
}

}  // namespace strandline::snapshot
