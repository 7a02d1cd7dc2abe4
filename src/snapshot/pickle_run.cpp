// SPDX-License-Identifier: Apache-2.0
// Dictionaries and lists of the plain shape.
#include "snapshot/pickle_run.h"

#include "snapshot/pickle_opcode.h"

namespace strandline::snapshot {
namespace {

/// No opcode with its number is longer: one check a value.
constexpr std::uint64_t kWindow = 16;
constexpr std::uint64_t kNoSlot = UINT64_MAX;

bool is_number(unsigned char code) {
  return code == opcode::binint1 || code == opcode::binint2 || code == opcode::binint ||
         code == opcode::long1;
}

}  // namespace

// What every value needs is inlined: the calls would cost as much as the work.

[[gnu::always_inline]] inline bool PickleRun::get(PickleCursor& in, Value& value) const {
  const std::uint64_t bytes = in.peek8();
  std::uint64_t number = bytes >> 8 & 0xff;
  if ((bytes & 0xff) == opcode::long_binget) {
    number = bytes >> 8 & 0xffffffff;
    in.at += 3;
  }
  in.at += 2;
  value = memo_.plain(number);
  return !value.is(ValueKind::open) && !value.is(ValueKind::unset);
}

/// The container or text just read gets the next entry of the memo where the writer gives it one.
/// The entry stays open until it is replaced. False for an entry that is not the next.
[[gnu::always_inline]] inline bool PickleRun::put(PickleCursor& in, std::uint64_t& slot) {
  if (STRANDLINE_LIKELY(in.opcode() == opcode::memoize)) {
    ++in.at;
  } else if (in.opcode() == opcode::binput || in.opcode() == opcode::long_binput) {
    if (!put_number(in)) return false;
  } else {
    return true;
  }
  slot = memo_.size();
  memo_.push({ValueKind::open, 0});
  return true;
}

[[gnu::always_inline]] inline bool PickleRun::number(PickleCursor& in, Value& value) {
  const std::uint64_t bytes = in.peek8();
  switch (bytes & 0xff) {
    case opcode::binint1:
      value = Value::integer(static_cast<std::int64_t>(bytes >> 8 & 0xff));
      in.at += 2;
      return true;
    case opcode::binint2:
      value = Value::integer(static_cast<std::int64_t>(bytes >> 8 & 0xffff));
      in.at += 3;
      return true;
    case opcode::binint:
      value = Value::integer(static_cast<std::int32_t>(bytes >> 8));
      in.at += 5;
      return true;
    default: {
      const std::uint64_t length = bytes >> 8 & 0xff;
      if (length == 0 || length > 8) return false;
      in.at += 2;
      const auto shift = static_cast<unsigned>(64 - 8 * length);
      value = records_.integer(static_cast<std::int64_t>(in.peek8() << shift) >> shift);
      in.at += length;
      return true;
    }
  }
}

[[gnu::always_inline]] inline bool PickleRun::key(PickleCursor& in, Key& key) {
  Value name;
  const unsigned char code = in.opcode();
  const bool known = STRANDLINE_LIKELY(code == opcode::binget || code == opcode::long_binget)
                         ? get(in, name)
                         : text(in, Key::action, name);
  const std::uint32_t number = name.id() - 1;
  if (!known || !name.is(ValueKind::text) || number >= kKeyCount) return false;
  key = static_cast<Key>(number);
  return true;
}

[[gnu::always_inline]] inline bool PickleRun::value(PickleCursor& in, Key key, Nesting nesting,
                                                    Value& value) {
  switch (in.opcode()) {
    case opcode::binget:
    case opcode::long_binget:
      return get(in, value);
    case opcode::long1:
    case opcode::binint:
    case opcode::binint1:
    case opcode::binint2:
      if (!number(in, value)) return false;
      // Two numbers in a row are no value and a key.
      return !in.has(kWindow) || !is_number(in.opcode()) || pair(in, value, value);
    case opcode::short_binunicode:
      if (short_text(in, key, value)) return true;
      return text(in, key, value);
    case opcode::binunicode:
      return text(in, key, value);
    case opcode::empty_list:
      return nesting == Nesting::record && stack(in, value);
    case opcode::none:
      ++in.at;
      value = {ValueKind::none, 0};
      return true;
    case opcode::newtrue:
    case opcode::newfalse:
      value = {ValueKind::boolean, in.opcode() == opcode::newtrue ? 1U : 0U};
      ++in.at;
      return true;
    default:
      return false;
  }
}

/// A text of up to 4 bytes and its MEMOIZE, the same as the last one under its key: "N/A", mostly.
[[gnu::always_inline]] inline bool PickleRun::short_text(PickleCursor& in, Key key, Value& value) {
  const std::uint64_t bytes = in.peek8();
  const std::uint64_t length = bytes >> 8 & 0xff;
  const ShortText& last = short_texts_[static_cast<std::size_t>(key)];
  if (length > 4) return false;
  const std::uint64_t mask = (std::uint64_t{1} << (8 * length + 24)) - 1;
  if ((bytes & mask) != last.bytes) return false;
  in.at += length + 3;
  value = last.value;
  memo_.push(value);
  return true;
}

bool PickleRun::dict(PickleCursor& in, std::uint64_t& slot, Nesting nesting) {
  if (!in.has(kWindow) || !put(in, slot)) return false;
  if (in.opcode() != opcode::mark) return false;
  ++in.at;
  while (in.has(kWindow)) {
    if (in.opcode() == opcode::setitems) {
      ++in.at;
      return true;
    }
    Key name{};
    Value content;
    if (!key(in, name) || !in.has(kWindow) || !value(in, name, nesting, content)) return false;
    records_.set_field(name, content);
  }
  // The last bytes of all: the machine does them.
  return false;
}

/// Whether what follows a dictionary's items cannot be more of them: neither a mark nor a key.
bool PickleRun::is_complete(PickleCursor in) const {
  if (!in.has(kWindow)) return false;  // who knows: the machine
  if (in.opcode() == opcode::memoize) ++in.at;
  switch (in.opcode()) {
    case opcode::empty_dict:
    case opcode::empty_list:
    case opcode::appends:
    case opcode::append:
    case opcode::setitems:
    case opcode::setitem:
      return true;
    case opcode::binget:
    case opcode::long_binget: {
      Value next;
      return get(in, next) && next.kind() >= ValueKind::frame;  // a record
    }
    default:
      return false;
  }
}

bool PickleRun::read(PickleCursor& in, std::uint64_t& slot, std::uint64_t offset) {
  if (!memo_.is_plain() || left_ > 1000 + taken_) return false;
  const std::uint64_t entries = memo_.size();
  PickleCursor ahead = in;
  offset_ = offset;
  records_.begin_record();
  if (dict(ahead, slot, Nesting::record) && records_.is_plain_record() && is_complete(ahead)) {
    in = ahead;
    ++taken_;
    return true;
  }
  slot = kNoSlot;
  memo_.truncate(entries);
  ++left_;
  return false;
}

bool PickleRun::text(PickleCursor& in, Key key, Value& value) {
  const unsigned char code = in.opcode();
  if (code != opcode::short_binunicode && code != opcode::binunicode) return false;
  const std::uint64_t head = in.peek8();
  ++in.at;
  std::string_view bytes;
  if (!in.text(code == opcode::binunicode ? 4 : 1, bytes) || !in.has(kWindow)) return false;
  value = records_.text_under(key, bytes);
  if (code == opcode::short_binunicode && bytes.size() <= 4 && in.opcode() == opcode::memoize) {
    const std::uint64_t mask = (std::uint64_t{1} << (8 * bytes.size() + 24)) - 1;
    short_texts_[static_cast<std::size_t>(key)] = {.bytes = head & mask, .value = value};
  }
  std::uint64_t slot = kNoSlot;
  if (!put(in, slot)) return false;
  if (slot != kNoSlot) memo_.replace(slot, value);
  return true;
}

bool PickleRun::pair(PickleCursor& in, Value first, Value& value) {
  Value second;
  if (!number(in, second) || !in.has(kWindow) || in.opcode() != opcode::tuple2) return false;
  ++in.at;
  value = records_.pair(first, second);
  std::uint64_t slot = kNoSlot;
  if (!put(in, slot)) return false;
  if (slot != kNoSlot) memo_.replace(slot, value);
  return true;
}

/// BINPUT and LONG_BINPUT of the next number.
bool PickleRun::put_number(PickleCursor& in) {
  const std::uint64_t bytes = in.peek8();
  const bool is_long = in.opcode() == opcode::long_binput;
  in.at += is_long ? 5 : 2;
  return (bytes >> 8 & (is_long ? 0xffffffff : 0xff)) == memo_.size();
}

bool PickleRun::stack(PickleCursor& in, Value& value) {
  ++in.at;
  count_ = 0;
  hash_ = 0;
  std::uint64_t slot = kNoSlot;
  if (!put(in, slot) || !in.has(kWindow)) return false;
  if (in.opcode() == opcode::mark) {
    ++in.at;
    if (!frames(in)) return false;
  } else if (!single_frame(in)) {
    return false;
  }
  value = count_ == 0 ? Value{ValueKind::empty_list, 0}
                      : records_.stack_of_frames({frames_.data(), count_}, hash_, offset_);
  if (slot != kNoSlot) memo_.replace(slot, value);
  return true;
}

void PickleRun::add_frame(std::uint32_t id) {
  if (count_ == frames_.size()) frames_.resize(frames_.empty() ? 256 : 2 * count_);
  hash_ = StackLists::add(hash_, id);
  frames_[count_++] = id;
}

/// Frames of the memo and new ones, to behind the APPENDS.
bool PickleRun::frames(PickleCursor& in) {
  for (;;) {
    known_frames(in);
    if (!in.has(kWindow)) return false;
    if (count_ == frames_.size()) {
      frames_.resize(2 * count_);
      continue;
    }
    switch (in.opcode()) {
      case opcode::empty_dict:
        if (!frame(in)) return false;
        break;
      case opcode::appends:
        ++in.at;
        return count_ != 0;
      default:
        return false;
    }
  }
}

/// As many frames of the memo as there are in a row.
void PickleRun::known_frames(PickleCursor& in) {
  if (frames_.empty()) frames_.resize(256);
  const Value* const memo = memo_.entries();
  const std::uint64_t entries = memo_.size();
  const char* at = in.at;
  const auto left = static_cast<std::uint64_t>(in.end - at);
  const char* const last = left < kWindow ? at - 1 : in.end - kWindow;
  std::uint32_t* const frames = frames_.data();
  const std::size_t room = frames_.size();
  std::uint64_t hash = hash_;
  std::size_t count = count_;
  while (at <= last && count < room) {
    const std::uint64_t bytes = PickleCursor{at, in.end}.peek8();
    std::uint64_t number = bytes >> 8 & 0xffffffff;
    const char* next = at + 5;
    if ((bytes & 0xff) != opcode::long_binget) {
      if ((bytes & 0xff) != opcode::binget) break;
      number &= 0xff;
      next = at + 2;
    }
    if (number >= entries || !memo[number].is(ValueKind::frame)) break;
    hash = StackLists::add(hash, memo[number].id());
    frames[count++] = memo[number].id();
    at = next;
  }
  in.at = at;
  hash_ = hash;
  count_ = count;
}

/// A list without a mark: empty, or of one item that APPEND puts there.
bool PickleRun::single_frame(PickleCursor& in) {
  PickleCursor ahead = in;
  Value known;
  switch (in.opcode()) {
    case opcode::binget:
    case opcode::long_binget:
      if (!get(ahead, known) || !ahead.has(kWindow)) return false;
      if (ahead.opcode() != opcode::append) return true;  // the next key
      if (!known.is(ValueKind::frame)) return false;
      add_frame(known.id());
      break;
    case opcode::empty_dict:
      if (!frame(ahead) || !ahead.has(kWindow) || ahead.opcode() != opcode::append) return false;
      break;
    default:
      return in.opcode() == opcode::setitems || in.opcode() == opcode::short_binunicode ||
             in.opcode() == opcode::binunicode;
  }
  in = ahead;
  ++in.at;
  return true;
}

/// A new frame amid the fields of a record, which share no key with it.
bool PickleRun::frame(PickleCursor& in) {
  ++in.at;
  const std::uint64_t fields = records_.put_fields_aside();
  std::uint64_t slot = kNoSlot;
  const bool whole = dict(in, slot, Nesting::frame) && records_.is_frame();
  if (whole) {
    const Value frame = records_.record();
    if (slot != kNoSlot) memo_.replace(slot, frame);
    add_frame(frame.id());
  }
  records_.take_fields_back(fields);
  return whole;
}

}  // namespace strandline::snapshot
