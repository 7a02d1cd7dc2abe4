// SPDX-License-Identifier: Apache-2.0
// From closed containers of a pickle to rows of a snapshot. What a dictionary is, its keys tell, so
// order, nesting and unknown neighbours do not matter:
//
//   action -> event      filename -> frame       state, size -> block    real_size -> history
//   blocks -> segment    stage -> annotation     segments | device_traces -> the snapshot
//
// A list takes the kind of the records in it; others in it are skipped and counted. Everything else
// becomes JSON text, within a budget that grows with the bytes read: what a few bytes of a hostile
// file repeat does not fill the memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "snapshot/pickle_value.h"
#include "snapshot/range_filter.h"
#include "snapshot/record_error.h"
#include "snapshot/stack_lists.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Keys with a meaning; each is the string of its number plus one.
enum class Key : std::uint8_t {
  action,
  addr,
  device_free,
  size,
  stream,
  time_us,
  frames,
  compile_context,
  user_metadata,
  pool_id,
  category,
  forward_frames,
  filename,
  line,
  name,
  state,
  address,
  requested_size,
  history,
  real_size,
  total_size,
  blocks,
  device,
  segment_type,
  segment_pool_id,
  is_expandable,
  allocated_size,
  active_size,
  stage,
  segments,
  device_traces,
  allocator_settings,
  external_annotations,
  host_segments,
  host_traces,
  count_
};

/// Actions of the format, in the order in which their names follow the keys among the strings.
inline constexpr std::array kFormatActions{
    record::Action::alloc,          record::Action::free_requested,
    record::Action::free_completed, record::Action::segment_alloc,
    record::Action::segment_free,   record::Action::segment_map,
    record::Action::segment_unmap,  record::Action::oom,
    record::Action::snapshot,       record::Action::annotate};

inline constexpr std::size_t kKeyCount = static_cast<std::size_t>(Key::count_);
constexpr StringId string_of(Key key) {
  return {static_cast<std::uint32_t>(key) + 1};
}

/// A list under construction.
struct ListState {
  ValueKind kind = ValueKind::none;  ///< of its records; none: other values, kept in the arena
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

class PickleRecords {
 public:
  explicit PickleRecords(SnapshotFile& file, const ReadRange& range = {});

  /// Makes room for so many events.
  void expect_events(std::size_t count);

  Value text(std::string_view bytes) {
    return {ValueKind::text, snapshot_.strings.intern(bytes).value};
  }
  Value integer(std::int64_t number) {
    return Value::fits(number) ? Value::integer(number) : wide_integer(number);
  }
  /// Two's complement, little-endian, any length.
  Value integer(std::string_view bytes);
  /// Decimal digits with an optional sign; any length. Throws RecordError.
  Value decimal(std::string_view digits);
  Value real(double number);

  /// Keys and values in turn. Throws RecordError, as all below.
  Value dict(std::span<const Value> pairs, std::uint64_t offset);
  Value tuple(std::span<const Value> values, std::uint64_t offset);
  void append(ListState& list, Value value, std::vector<Value>& arena);
  Value list(const ListState& list, std::span<const Value> values, std::uint64_t offset);
  /// What the pickle is; fills in what needs the whole.
  void finish(Value root);

  // A dictionary field by field, for a caller that knows what it reads: begun, fields set, then
  // `record`, which is an event, a frame, a block or an annotation.
  void begin_record() {
    mask_ = 0;
    unknown_.clear();
  }
  void set_field(Key key, Value value) {
    mask_ |= std::uint64_t{1} << static_cast<unsigned>(key);
    fields_[static_cast<std::size_t>(key)] = value;
  }
  bool is_plain_record() const noexcept {
    return has(Key::action) || has(Key::filename) || (has(Key::state) && has(Key::size)) ||
           (has(Key::stage) && has(Key::name) && !has(Key::blocks));
  }
  bool is_frame() const noexcept { return has(Key::filename) && !has(Key::action); }
  /// Fields of a record meanwhile another, with other keys, is read.
  std::uint64_t put_fields_aside() { return std::exchange(mask_, 0); }
  void take_fields_back(std::uint64_t fields) { mask_ = fields; }
  Value record();

  /// A text under a key, where it is often the one that stood there last.
  Value text_under(Key key, std::string_view bytes) {
    StringId& last = last_texts_[static_cast<std::size_t>(key)];
    if (snapshot_.strings.text(last) != bytes) last = snapshot_.strings.intern(bytes);
    return {ValueKind::text, last.value};
  }
  /// Of two integers.
  Value pair(Value first, Value second);
  /// Ids of frames, innermost first, and what StackLists::add makes of them.
  Value stack_of_frames(std::span<const std::uint32_t> frames, std::uint64_t hash,
                        std::uint64_t offset);

  /// A part of the events is kept: the records have to be told where events stand.
  bool is_ranged() const noexcept { return filter_.is_on(); }
  void set_place(const TracePlace& place) { place_ = place; }

 private:
  struct WideInteger {
    std::uint64_t bits = 0;  // two's complement where it fits 64 bits, else a number of its own
    bool negative = false;
    std::string decimal;  // empty where it fits
  };

  Value wide_integer(std::int64_t number);
  Value add_wide(WideInteger number);

  bool has(Key key) const noexcept { return (mask_ >> static_cast<unsigned>(key) & 1) != 0; }
  Value field(Key key) const noexcept { return fields_[static_cast<std::size_t>(key)]; }
  std::uint64_t scan(std::span<const Value> pairs);
  void count_unknown(StringId key);

  Value event_of();
  Value frame_of();
  Value block_of();
  Value history_of();
  Value segment_of();
  Value annotation_of();
  Value root_of(std::span<const Value> pairs);
  Value stack_of(std::span<const Value> frames, std::uint64_t offset);
  Value traces_of(std::span<const Value> values);
  Value histories_of(RowRange range);
  Value json_of(std::span<const Value> values, bool is_dict, std::uint64_t offset);
  Value range_of(ValueKind plural, RowRange range);

  record::Action action_of(StringId name);
  void describe(EventRow& row);
  void keep_extras(std::uint64_t event);
  EventRow event_row(record::Action action);
  RowRange events_in(Value value);
  void append_json(std::string& out, Value value) const;
  void append_json_key(std::string& out, Value value) const;

  std::uint64_t bits_of(Key key) const noexcept;
  std::uint64_t size_in(Key key) const;
  std::int64_t time_in(Key key) const noexcept;
  StringId text_in(Key key);
  StringId text_of(Value value);
  StackId stack_in(Key key) const noexcept;
  StreamId stream_in(Key key);
  PoolId pool_in(Key key);

  void set_root(Value root);
  void take_traces(Value value);
  void take_host();
  void keep_segments();
  void keep_parts();
  void add_trace(RowRange range);

  SnapshotFile& file_;
  Snapshot& snapshot_;

  // the dictionary at hand
  std::uint64_t mask_ = 0;
  std::array<Value, kKeyCount> fields_{};
  std::vector<std::pair<Value, Value>> unknown_;

  std::vector<std::uint8_t> block_has_address_;
  std::vector<WideInteger> wide_;
  std::unordered_map<std::string, std::uint32_t> wide_index_;
  std::vector<double> reals_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> pair_index_;
  std::size_t last_pair_ = 0;
  std::vector<PoolId> pool_of_pair_;
  FlatMap<std::uint32_t> stream_index_;
  std::vector<RowRange> ranges_;
  std::vector<std::vector<RowRange>> trace_lists_;
  std::vector<std::pair<std::uint64_t, StackId>> histories_;       // entries: bytes, stack
  std::vector<std::pair<std::uint64_t, StackId>> history_totals_;  // lists of them
  std::uint64_t blocks_taken_ = 0;                                 // rows that have their segment
  std::unordered_map<std::uint32_t, std::uint64_t> unknown_counts_;
  struct Metadata {
    StringId op{}, label{}, owner{};
    LayoutId layout{};
  };
  const Metadata& metadata_of(StringId json);
  std::unordered_map<std::uint32_t, Metadata> metadata_;
  std::uint64_t composed_bytes_ = 0;
  StackLists stack_lists_;
  RangeFilter filter_;
  TracePlace place_;                   // of the record at hand
  std::vector<std::uint32_t> frames_;  // of the list at hand
  std::array<StringId, kKeyCount> last_texts_{};
  std::array<Value, kKeyCount> root_fields_{};
};

}  // namespace strandline::snapshot
