// SPDX-License-Identifier: Apache-2.0
// Records of a pickle as rows: events, frames, blocks, segments, annotations.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "snapshot/large_pages.h"
#include "snapshot/pickle_records.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
constexpr std::int64_t kLatest = std::int64_t{1} << 61;

BlockUse use_of(std::string_view state) {
  if (state == "active_allocated") return BlockUse::allocated;
  if (state == "active_pending_free" || state == "active_awaiting_free") {
    return BlockUse::pending_free;
  }
  return BlockUse::inactive;
}

record::Dtype dtype_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(record::Dtype::complex128); ++i) {
    const auto dtype = static_cast<record::Dtype>(i);
    if (record::dtype_name(dtype) == name) return dtype;
  }
  return record::Dtype::unknown;
}

}  // namespace

/// Of the columns that every event fills; the others grow without copying.
void PickleRecords::expect_events(std::size_t count) {
  reserve_large(snapshot_.events.address, count);
  reserve_large(snapshot_.events.time_us, count);
  reserve_large(snapshot_.events.stack, count);
  reserve_large(snapshot_.events.action, count);
}

std::uint64_t PickleRecords::bits_of(Key key) const noexcept {
  if (!has(key)) return 0;
  const Value value = field(key);
  if (value.is(ValueKind::integer)) return static_cast<std::uint64_t>(value.number());
  if (value.is(ValueKind::boolean)) return value.payload();
  return value.is(ValueKind::wide) ? wide_[value.id()].bits : 0;
}

std::uint64_t PickleRecords::size_in(Key key) const {
  if (!has(key)) return 0;
  const Value value = field(key);
  const bool negative = (value.is(ValueKind::integer) && value.number() < 0) ||
                        (value.is(ValueKind::wide) && wide_[value.id()].negative);
  const std::uint64_t bits = bits_of(key);
  if (!negative && bits < kMostBytes) return bits;
  const std::string got = value.is(ValueKind::wide) && !wide_[value.id()].decimal.empty()
                              ? wide_[value.id()].decimal.substr(0, 40)
                              : fmt::format("{}", static_cast<std::int64_t>(bits));
  throw RecordError{"a size in bytes", got, "0 to 2^62"};
}

/// Unix microseconds; kept within what can be subtracted, tens of thousands of years.
std::int64_t PickleRecords::time_in(Key key) const noexcept {
  return std::clamp(static_cast<std::int64_t>(bits_of(key)), -kLatest, kLatest);
}

StringId PickleRecords::text_of(Value value) {
  if (value.is(ValueKind::text) || value.is(ValueKind::json)) return StringId{value.id()};
  if (value.is(ValueKind::none)) return {};
  std::string json;
  append_json(json, value);
  return snapshot_.strings.intern(json);
}

StringId PickleRecords::text_in(Key key) {
  return has(key) ? text_of(field(key)) : StringId{};
}

StackId PickleRecords::stack_in(Key key) const noexcept {
  return has(key) && field(key).is(ValueKind::stack) ? StackId{field(key).id()} : StackId{};
}

StreamId PickleRecords::stream_in(Key key) {
  const std::uint64_t handle = bits_of(key);
  if (handle == 0) return {};
  std::uint32_t& number = stream_index_[handle];
  if (number == 0) {
    snapshot_.streams.emplace_back(handle, 0);
    number = static_cast<std::uint32_t>(snapshot_.streams.size());
  }
  return StreamId{number};
}

PoolId PickleRecords::pool_in(Key key) {
  if (!has(key) || !field(key).is(ValueKind::pair)) return {};
  const std::uint32_t pair = field(key).id();
  if (pairs_[pair] == std::pair<std::uint64_t, std::uint64_t>{0, 0}) return {};
  if (pool_of_pair_.size() <= pair) pool_of_pair_.resize(pairs_.size());
  PoolId& pool = pool_of_pair_[pair];
  if (!pool) {
    snapshot_.pools.push_back(pairs_[pair]);
    pool = PoolId{static_cast<std::uint32_t>(snapshot_.pools.size())};
  }
  return pool;
}

/// Those that are not of the format have their name kept beside the event.
Action PickleRecords::action_of(StringId name) {
  const std::size_t number = name.value - std::size_t{1} - kKeyCount;
  if (STRANDLINE_LIKELY(number < kFormatActions.size())) return kFormatActions[number];
  file_.extras.push_back({snapshot_.events.count(), string_of(Key::action), name});
  // Before 2022 one event told both halves of a free.
  return snapshot_.text(name) == "free" ? Action::free_completed : Action::none;
}

Value PickleRecords::event_of() {
  // Comes first: blocks alive where the range begins go in front of its first event.
  bool kept = true;
  if (filter_.is_on()) {
    filter_.begin_trace(place_);
    kept = filter_.next(time_in(Key::time_us));
  }
  const std::uint64_t number = snapshot_.events.count();
  const std::size_t extras = file_.extras.size();
  const EventRow row = event_row(action_of(text_in(Key::action)));
  if (STRANDLINE_UNLIKELY(!unknown_.empty())) keep_extras(number);
  if (STRANDLINE_LIKELY(kept)) {
    snapshot_.events.push_back(row);
  } else {
    file_.extras.resize(extras);
    filter_.pass_over(row);
  }
  return filter_.is_on() ? Value{ValueKind::ranged_event, filter_.trace()}
                         : Value{ValueKind::event, number};
}

EventRow PickleRecords::event_row(Action action) {
  const std::uint64_t size = size_in(Key::size);
  EventRow row{.address = bits_of(has(Key::addr) ? Key::addr : Key::device_free),
               .size = size,
               .requested = size,
               .time_us = time_in(Key::time_us),
               .stack = stack_in(Key::frames),
               .forward = stack_in(Key::forward_frames),
               .stream = stream_in(Key::stream),
               .pool = pool_in(Key::pool_id),
               .context = text_in(Key::compile_context),
               .action = action};
  describe(row);
  return row;
}

void PickleRecords::describe(EventRow& row) {
  if (has(Key::user_metadata)) {
    const Value value = field(Key::user_metadata);
    if (value.is(ValueKind::json)) {
      const Metadata& metadata = metadata_of(StringId{value.id()});
      row.op = metadata.op;
      row.label = metadata.label;
      row.owner = metadata.owner;
      row.layout = metadata.layout;
    } else if (!value.is(ValueKind::empty_dict)) {
      row.label = text_of(value);
    }
  }
  if (!row.op && has(Key::category)) {
    const StringId category = text_in(Key::category);
    if (snapshot_.text(category) != "unknown") row.op = category;
  }
}

/// A dictionary of ours names op, label, owner, shape and dtype; any other is a label as it stands.
const PickleRecords::Metadata& PickleRecords::metadata_of(StringId json) {
  const auto [entry, is_new] = metadata_.try_emplace(json.value);
  Metadata& metadata = entry->second;
  if (!is_new) return metadata;
  metadata.label = json;
  const auto object = nlohmann::json::parse(snapshot_.text(json), nullptr, false);
  if (!object.is_object() || (!object.contains("op") && !object.contains("label"))) return metadata;
  const auto text = [&](const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return StringId{};
    return snapshot_.strings.intern(found->get<std::string>());
  };
  metadata = {.op = text("op"), .label = text("label"), .owner = text("owner"), .layout = {}};
  if (!object.contains("dtype") && !object.contains("shape")) return metadata;
  record::Layout layout;
  if (const auto shape = object.find("shape"); shape != object.end() && shape->is_array()) {
    for (const auto& side : *shape) {
      if (side.is_number_integer()) layout.shape.push_back(side.get<std::int64_t>());
    }
  }
  layout.dtype = dtype_of(object.value("dtype", std::string()));
  auto& layouts = snapshot_.layouts;
  const auto known = std::find(layouts.begin(), layouts.end(), layout);
  metadata.layout = LayoutId{static_cast<std::uint32_t>(known - layouts.begin()) + 1};
  if (known == layouts.end()) layouts.push_back(std::move(layout));
  return metadata;
}

void PickleRecords::keep_extras(std::uint64_t event) {
  for (const auto& [key, value] : unknown_) {
    const StringId name = text_of(key);
    count_unknown(name);
    file_.extras.push_back({event, name, text_of(value)});
  }
}

Value PickleRecords::frame_of() {
  const std::uint64_t line = bits_of(Key::line);
  for (const auto& [key, value] : unknown_) count_unknown(text_of(key));
  const FrameId frame =
      snapshot_.frames.intern(text_in(Key::filename), text_in(Key::name),
                              line <= UINT32_MAX ? static_cast<std::uint32_t>(line) : 0);
  return {ValueKind::frame, frame.value};
}

Value PickleRecords::history_of() {
  histories_.emplace_back(size_in(Key::real_size), stack_in(Key::frames));
  return {ValueKind::history, histories_.size() - 1};
}

Value PickleRecords::block_of() {
  BlockRow row{.address = bits_of(Key::address),
               .size = size_in(Key::size),
               .stack = stack_in(Key::frames),
               .use = use_of(snapshot_.text(text_in(Key::state)))};
  const std::pair<std::uint64_t, StackId>* history = nullptr;
  if (has(Key::history) && field(Key::history).is(ValueKind::histories)) {
    history = &history_totals_[field(Key::history).id()];
  }
  if (history != nullptr && !row.stack) row.stack = history->second;
  row.requested = has(Key::requested_size) ? size_in(Key::requested_size)
                  : history != nullptr     ? history->first
                                           : row.size;
  for (const auto& [key, value] : unknown_) count_unknown(text_of(key));
  snapshot_.blocks.push_back(row);
  block_has_address_.push_back(has(Key::address) ? 1 : 0);
  return {ValueKind::block, snapshot_.blocks.count() - 1};
}

Value PickleRecords::segment_of() {
  RowRange blocks;
  if (field(Key::blocks).is(ValueKind::blocks)) blocks = ranges_[field(Key::blocks).id()];
  if (blocks.count > 0 && blocks.first < blocks_taken_) {
    throw RecordError{"a segment", "blocks of another", "blocks of its own"};
  }
  blocks_taken_ = std::max(blocks_taken_, blocks.end());
  const auto device = static_cast<std::int64_t>(bits_of(Key::device));
  if (device > 254 || device < -1) {
    throw RecordError{"a device", fmt::format("{}", device), "-1 (the host) to 254"};
  }
  const SegmentRow row{.address = bits_of(Key::address),
                       .size = size_in(Key::total_size),
                       .stack = stack_in(Key::frames),
                       .stream = stream_in(Key::stream),
                       .pool = pool_in(Key::segment_pool_id),
                       .device = static_cast<std::uint8_t>(device),
                       .is_small = snapshot_.text(text_in(Key::segment_type)) == "small",
                       .is_expandable = bits_of(Key::is_expandable) != 0,
                       .first_block = static_cast<std::uint32_t>(blocks.first),
                       .block_count = static_cast<std::uint32_t>(blocks.count)};
  bool unaddressed = false;
  std::uint64_t at = row.address;
  for (std::uint64_t b = blocks.first; b < blocks.end(); ++b) {
    BlockColumns& columns = snapshot_.blocks;
    if (block_has_address_[b] == 0) {
      columns.address[b] = at;
      unaddressed = unaddressed || columns.use[b] != BlockUse::inactive;
    }
    at += columns.size[b];
    columns.device[b] = row.device;
    columns.stream[b] = row.stream;
    columns.pool[b] = row.pool;
  }
  for (const auto& [key, value] : unknown_) count_unknown(text_of(key));
  snapshot_.segments.push_back(row);
  file_.unaddressed.push_back(unaddressed ? 1 : 0);
  return {ValueKind::segment, snapshot_.segments.count() - 1};
}

Value PickleRecords::annotation_of() {
  const std::string_view stage = snapshot_.text(text_in(Key::stage));
  file_.annotations.push_back({.name = text_in(Key::name),
                               .stage = stage == "START" ? Stage::start
                                        : stage == "END" ? Stage::end
                                                         : Stage::other,
                               .device = static_cast<std::int32_t>(bits_of(Key::device)),
                               .time_us = time_in(Key::time_us)});
  return {ValueKind::annotation, file_.annotations.size() - 1};
}

}  // namespace strandline::snapshot
