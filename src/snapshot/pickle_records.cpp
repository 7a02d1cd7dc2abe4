// SPDX-License-Identifier: Apache-2.0
// What closes: dictionaries by their keys, lists by their records, tuples; numbers of any width.
#include "snapshot/pickle_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "snapshot/wide_decimal.h"

namespace strandline::snapshot {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Key::count_)> kKeyTexts{
    "action",
    "addr",
    "device_free",
    "size",
    "stream",
    "time_us",
    "frames",
    "compile_context",
    "user_metadata",
    "pool_id",
    "category",
    "forward_frames",
    "filename",
    "line",
    "name",
    "state",
    "address",
    "requested_size",
    "history",
    "real_size",
    "total_size",
    "blocks",
    "device",
    "segment_type",
    "segment_pool_id",
    "is_expandable",
    "allocated_size",
    "active_size",
    "stage",
    "segments",
    "device_traces",
    "allocator_settings",
    "external_annotations",
    "host_segments",
    "host_traces",
};
static_assert(kKeyTexts.size() <= 64);

/// The kind of a list of such records; none for what is no record.
ValueKind plural_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::frame:
      return ValueKind::stack;
    case ValueKind::event:
      return ValueKind::events;
    case ValueKind::ranged_event:
      return ValueKind::ranged_events;
    case ValueKind::block:
      return ValueKind::blocks;
    case ValueKind::segment:
      return ValueKind::segments;
    case ValueKind::annotation:
      return ValueKind::annotations;
    case ValueKind::history:
      return ValueKind::histories;
    default:
      return ValueKind::none;
  }
}

}  // namespace

PickleRecords::PickleRecords(SnapshotFile& file, const ReadRange& range)
    : file_(file),
      snapshot_(file.snapshot),
      stack_lists_(file.snapshot.stacks),
      filter_(file.snapshot.events, range) {
  for (const std::string_view text : kKeyTexts) snapshot_.strings.intern(text);
  for (const record::Action action : kFormatActions) {
    snapshot_.strings.intern(record::action_name(action));
  }
}

Value PickleRecords::integer(std::string_view bytes) {
  if (bytes.empty()) return Value::integer(0);
  const bool negative = (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
  const char fill = negative ? '\xff' : '\0';
  while (bytes.size() > 8 && bytes.back() == fill) bytes.remove_suffix(1);
  std::uint64_t bits = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = std::min<std::size_t>(bytes.size(), 8); i-- > 0;) {
    bits = (bits << 8) | static_cast<unsigned char>(bytes[i]);
  }
  const bool high = (bits >> 63) != 0;
  if (bytes.size() > 8) {
    return add_wide(
        {.bits = 0, .negative = negative, .decimal = decimal_of_little_endian(bytes, negative)});
  }
  if (high != negative) return add_wide({.bits = bits, .negative = negative, .decimal = {}});
  return integer(static_cast<std::int64_t>(bits));
}

Value PickleRecords::decimal(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
    throw RecordError{"a number", fmt::format("\"{}\"", digits.substr(0, 40)), "decimal digits"};
  }
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  std::uint64_t magnitude = 0;
  for (const char digit : digits) {
    if (__builtin_mul_overflow(magnitude, std::uint64_t{10}, &magnitude) ||
        __builtin_add_overflow(magnitude, static_cast<std::uint64_t>(digit - '0'), &magnitude)) {
      return add_wide({.bits = 0,
                       .negative = negative,
                       .decimal = (negative ? "-" : "") + std::string(digits)});
    }
  }
  const std::uint64_t bits = negative ? ~magnitude + 1 : magnitude;
  const bool fits = magnitude <= std::uint64_t{INT64_MAX} + (negative ? 1 : 0);
  if (fits) return integer(static_cast<std::int64_t>(bits));
  if (!negative) return add_wide({.bits = bits, .negative = false, .decimal = {}});
  return add_wide({.bits = 0, .negative = true, .decimal = "-" + std::string(digits)});
}

Value PickleRecords::wide_integer(std::int64_t number) {
  return add_wide(
      {.bits = static_cast<std::uint64_t>(number), .negative = number < 0, .decimal = {}});
}

/// Those past 64 bits get bits of their own, from the top down: equal numbers the same, so that
/// addresses keep their identity.
Value PickleRecords::add_wide(WideInteger number) {
  const std::string key = number.decimal.empty()
                              ? fmt::format("{}{:x}", number.negative ? "-" : "", number.bits)
                              : "d" + number.decimal;
  const auto [entry, is_new] =
      wide_index_.try_emplace(key, static_cast<std::uint32_t>(wide_.size()));
  if (is_new) {
    if (!number.decimal.empty()) number.bits = ~static_cast<std::uint64_t>(wide_.size());
    wide_.push_back(std::move(number));
  }
  return {ValueKind::wide, entry->second};
}

Value PickleRecords::real(double number) {
  reals_.push_back(number);
  return {ValueKind::real, reals_.size() - 1};
}

/// Sorts the pairs into fields and unknown ones; the mask of the fields present.
std::uint64_t PickleRecords::scan(std::span<const Value> pairs) {
  std::uint64_t mask = 0;
  unknown_.clear();
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const Value key = pairs[i];
    const std::size_t number = key.id() - std::size_t{1};
    if (STRANDLINE_LIKELY(key.is(ValueKind::text) && number < kKeyTexts.size())) {
      mask |= std::uint64_t{1} << number;
      fields_[number] = pairs[i + 1];
    } else {
      unknown_.emplace_back(key, pairs[i + 1]);
    }
  }
  return mask;
}

Value PickleRecords::dict(std::span<const Value> pairs, std::uint64_t offset) {
  if (pairs.empty()) return {ValueKind::empty_dict, 0};
  mask_ = scan(pairs);
  if (is_plain_record()) return record();
  if (has(Key::blocks)) return segment_of();
  if (has(Key::real_size)) return history_of();
  if (has(Key::segments) || has(Key::device_traces)) return root_of(pairs);
  return json_of(pairs, true, offset);
}

Value PickleRecords::record() {
  if (STRANDLINE_LIKELY(has(Key::action))) return event_of();
  if (has(Key::filename)) return frame_of();
  return has(Key::state) && has(Key::size) ? block_of() : annotation_of();
}

Value PickleRecords::pair(Value first, Value second) {
  const auto bits = [&](Value value) {
    return value.is(ValueKind::wide) ? wide_[value.id()].bits
                                     : static_cast<std::uint64_t>(value.number());
  };
  const std::pair numbers(bits(first), bits(second));
  if (last_pair_ < pairs_.size() && pairs_[last_pair_] == numbers) {
    return {ValueKind::pair, last_pair_};
  }
  const auto [entry, is_new] =
      pair_index_.try_emplace(numbers, static_cast<std::uint32_t>(pairs_.size()));
  if (is_new) pairs_.push_back(numbers);
  last_pair_ = entry->second;
  return {ValueKind::pair, entry->second};
}

Value PickleRecords::tuple(std::span<const Value> values, std::uint64_t offset) {
  const bool is_pair =
      values.size() == 2 && std::all_of(values.begin(), values.end(), [](Value value) {
        return value.is(ValueKind::integer) || value.is(ValueKind::wide);
      });
  if (!is_pair) return json_of(values, false, offset);
  return pair(values[0], values[1]);
}

void PickleRecords::append(ListState& list, Value value, std::vector<Value>& arena) {
  const ValueKind plural = plural_of(value.kind());
  if (list.kind == ValueKind::none && plural != ValueKind::none) {
    // The first record says what the list is; what came before it is none.
    file_.skipped_values += list.count;
    arena.resize(arena.size() - static_cast<std::size_t>(list.count));
    list = {.kind = plural, .first = value.payload(), .count = 0};
  }
  if (plural != list.kind) {
    ++file_.skipped_values;
  } else if (plural == ValueKind::none || plural == ValueKind::stack) {
    arena.push_back(value);
    ++list.count;
  } else if (value.payload() == list.first + list.count ||
             (plural == ValueKind::ranged_events && value.payload() == list.first)) {
    ++list.count;
  } else {
    throw RecordError{"a record in a list", "one that stands elsewhere already", "records in turn"};
  }
}

Value PickleRecords::list(const ListState& list, std::span<const Value> values,
                          std::uint64_t offset) {
  if (list.kind == ValueKind::stack) return stack_of(values, offset);
  if (list.kind == ValueKind::histories) return histories_of({list.first, list.count});
  if (list.kind == ValueKind::ranged_events) return {list.kind, list.first};
  if (list.kind != ValueKind::none) return range_of(list.kind, {list.first, list.count});
  if (values.empty()) return {ValueKind::empty_list, 0};
  const bool are_traces = std::all_of(values.begin(), values.end(), [](Value value) {
    return value.is(ValueKind::events) || value.is(ValueKind::ranged_events) ||
           value.is(ValueKind::empty_list);
  });
  if (are_traces) return traces_of(values);
  return tuple(values, offset);
}

Value PickleRecords::range_of(ValueKind plural, RowRange range) {
  ranges_.push_back(range);
  return {plural, ranges_.size() - 1};
}

Value PickleRecords::stack_of(std::span<const Value> frames, std::uint64_t offset) {
  frames_.clear();
  std::uint64_t hash = 0;
  for (const Value frame : frames) {
    frames_.push_back(frame.id());
    hash = StackLists::add(hash, frame.id());
  }
  return stack_of_frames(frames_, hash, offset);
}

Value PickleRecords::stack_of_frames(std::span<const std::uint32_t> frames, std::uint64_t hash,
                                     std::uint64_t offset) {
  const StackId stack = stack_lists_.find(frames, hash, offset);
  // Frames named again and again in ever new orders: real files stay far below.
  if (STRANDLINE_UNLIKELY(snapshot_.stacks.size() > (std::size_t{1} << 20) + offset / 4)) {
    throw RecordError{"stacks", "more than the file has bytes for", "what a program has"};
  }
  return {ValueKind::stack, stack.value};
}

Value PickleRecords::traces_of(std::span<const Value> values) {
  std::vector<RowRange> traces;
  for (const Value value : values) {
    traces.push_back(events_in(value));
    if (value.is(ValueKind::ranged_events)) filter_.set_device(value.id(), traces.size() - 1);
  }
  trace_lists_.push_back(std::move(traces));
  return {ValueKind::traces, trace_lists_.size() - 1};
}

/// The rows of a list of events.
RowRange PickleRecords::events_in(Value value) {
  if (value.is(ValueKind::events)) return ranges_[value.id()];
  return value.is(ValueKind::ranged_events) ? filter_.rows(value.id()) : RowRange{};
}

Value PickleRecords::histories_of(RowRange range) {
  std::pair total(std::uint64_t{0}, histories_[static_cast<std::size_t>(range.first)].second);
  for (std::uint64_t i = range.first; i < range.end(); ++i) {
    total.first += histories_[static_cast<std::size_t>(i)].first;
  }
  history_totals_.push_back(total);
  return {ValueKind::histories, history_totals_.size() - 1};
}

void PickleRecords::count_unknown(StringId key) {
  ++unknown_counts_[key.value];
}

}  // namespace strandline::snapshot
