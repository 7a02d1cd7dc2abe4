// SPDX-License-Identifier: Apache-2.0
// The whole of a pickle: what is no record as JSON, and the snapshot put together at the end.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "snapshot/pickle_records.h"
#include "snapshot/rewind.h"

namespace strandline::snapshot {
namespace {

/// Composed text allowed beyond what was read.
constexpr std::uint64_t kComposedSlack = std::uint64_t{1} << 20;

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_rows(EventColumns& to, const EventColumns& from, RowRange range, std::uint8_t device) {
  for (std::uint64_t i = range.first; i < range.end(); ++i) {
    EventRow row = from.row(static_cast<std::size_t>(i));
    row.device = device;
    to.push_back(row);
  }
}

}  // namespace

void PickleRecords::append_json_key(std::string& out, Value value) const {
  if (value.is(ValueKind::text)) return append_json(out, value);
  std::string key;
  append_json(key, value);
  out += json_text(key);
}

void PickleRecords::append_json(std::string& out, Value value) const {
  switch (value.kind()) {
    case ValueKind::none:
      out += "null";
      break;
    case ValueKind::boolean:
      out += value.payload() != 0 ? "true" : "false";
      break;
    case ValueKind::integer:
      out += fmt::format("{}", value.number());
      break;
    case ValueKind::wide: {
      const WideInteger& wide = wide_[value.id()];
      if (!wide.decimal.empty()) {
        out += wide.decimal.find('x') == std::string::npos ? wide.decimal : json_text(wide.decimal);
      } else if (wide.negative) {
        out += fmt::format("{}", static_cast<std::int64_t>(wide.bits));
      } else {
        out += fmt::format("{}", wide.bits);
      }
      break;
    }
    case ValueKind::real: {
      const double number = reals_[value.id()];
      out +=
          std::isfinite(number) ? fmt::format("{}", number) : json_text(fmt::format("{}", number));
      break;
    }
    case ValueKind::text:
      out += json_text(snapshot_.text(StringId{value.id()}));
      break;
    case ValueKind::json:
      out += snapshot_.text(StringId{value.id()});
      break;
    case ValueKind::pair:
      out += fmt::format("[{},{}]", static_cast<std::int64_t>(pairs_[value.id()].first),
                         static_cast<std::int64_t>(pairs_[value.id()].second));
      break;
    case ValueKind::empty_list:
      out += "[]";
      break;
    case ValueKind::empty_dict:
      out += "{}";
      break;
    default:
      out += json_text("…");
  }
}

Value PickleRecords::json_of(std::span<const Value> values, bool is_dict, std::uint64_t offset) {
  std::string out(1, is_dict ? '{' : '[');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_key = is_dict && i % 2 == 0;
    if (i > 0) out += is_dict && !is_key ? ':' : ',';
    if (is_key) {
      append_json_key(out, values[i]);
    } else {
      append_json(out, values[i]);
    }
    if (composed_bytes_ + out.size() > kComposedSlack + 2 * offset) {
      ++file_.skipped_values;
      return {ValueKind::opaque, 0};
    }
  }
  out += is_dict ? '}' : ']';
  composed_bytes_ += out.size();
  return {ValueKind::json, snapshot_.strings.intern(out).value};
}

Value PickleRecords::root_of(std::span<const Value> pairs) {
  root_fields_ = {};
  file_.keys.clear();
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    std::string key;
    if (pairs[i].is(ValueKind::text)) {
      key = snapshot_.text(StringId{pairs[i].id()});
    } else {
      append_json(key, pairs[i]);
    }
    file_.keys.push_back(std::move(key));
  }
  for (std::size_t key = 0; key < root_fields_.size(); ++key) {
    if (has(static_cast<Key>(key))) root_fields_[key] = fields_[key];
  }
  for (const auto& [key, value] : unknown_) count_unknown(text_of(key));
  return {ValueKind::root, 0};
}

void PickleRecords::add_trace(RowRange range) {
  if (range.count > 0 && file_.traces.size() > 254) {
    throw RecordError{"a device", fmt::format("{}", file_.traces.size()), "0 to 254"};
  }
  file_.traces.push_back(range);
}

void PickleRecords::take_traces(Value value) {
  if (value.is(ValueKind::events) || value.is(ValueKind::ranged_events)) {
    add_trace(events_in(value));
  }
  if (!value.is(ValueKind::traces)) return;
  for (const RowRange range : trace_lists_[value.id()]) add_trace(range);
}

/// Host events and segments leave the columns of the devices; what no trace names leaves too.
void PickleRecords::take_host() {
  const Value traces = root_fields_[static_cast<std::size_t>(Key::host_traces)];
  RowRange host = events_in(traces);
  if (traces.is(ValueKind::traces) && !trace_lists_[traces.id()].empty()) {
    host = trace_lists_[traces.id()].front();
  }
  std::uint64_t named = host.count;
  for (const RowRange& range : file_.traces) named += range.count;
  if (named > snapshot_.events.count()) {
    throw RecordError{"a trace", "one that is another's too", "traces of their own"};
  }
  append_rows(file_.host_events, snapshot_.events, host, 0);

  std::uint64_t at = 0;
  bool in_order = true;
  for (const RowRange& range : file_.traces) {
    in_order = in_order && (range.count == 0 || range.first == at);
    if (range.count > 0) at = range.end();
  }
  if (in_order && at == snapshot_.events.count()) return;
  EventColumns events;
  std::vector<EventExtra> extras;
  std::sort(file_.extras.begin(), file_.extras.end(),
            [](const EventExtra& a, const EventExtra& b) { return a.event < b.event; });
  for (RowRange& range : file_.traces) {
    const std::uint64_t first = events.count();
    append_rows(events, snapshot_.events, range, 0);
    auto extra =
        std::lower_bound(file_.extras.begin(), file_.extras.end(), range.first,
                         [](const EventExtra& a, std::uint64_t event) { return a.event < event; });
    for (; extra != file_.extras.end() && extra->event < range.end(); ++extra) {
      extras.push_back({extra->event - range.first + first, extra->key, extra->value});
    }
    range.first = first;
  }
  const auto named_actions = [](const std::vector<EventExtra>& all) {
    return static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(),
                      [](const EventExtra& extra) { return extra.key == string_of(Key::action); }));
  };
  file_.skipped_values += named_actions(file_.extras) - named_actions(extras);
  snapshot_.events = std::move(events);
  file_.extras = std::move(extras);
}

void PickleRecords::set_root(Value root) {
  const bool is_segments = root.is(ValueKind::segments) || root.is(ValueKind::empty_list);
  if (root.is(ValueKind::root)) return;
  root_fields_ = {};
  file_.keys = {"device_traces", "segments"};
  if (is_segments) {
    root_fields_[static_cast<std::size_t>(Key::segments)] = root;
  } else if (root.is(ValueKind::events) || root.is(ValueKind::ranged_events) ||
             root.is(ValueKind::traces)) {
    root_fields_[static_cast<std::size_t>(Key::device_traces)] = root;
  } else {
    throw RecordError{"the pickle", "no snapshot",
                      "a dictionary with segments or device_traces, or a list of segments"};
  }
}

void PickleRecords::finish(Value root) {
  set_root(root);
  std::sort(file_.keys.begin(), file_.keys.end());
  take_traces(root_fields_[static_cast<std::size_t>(Key::device_traces)]);
  take_host();
  for (std::size_t device = 0; device < file_.traces.size(); ++device) {
    const RowRange& range = file_.traces[device];
    if (device == 0) continue;  // what they have
    for (std::uint64_t i = range.first; i < range.end(); ++i) {
      snapshot_.events.device.set(static_cast<std::size_t>(i), static_cast<std::uint8_t>(device));
    }
  }
  const Value settings = root_fields_[static_cast<std::size_t>(Key::allocator_settings)];
  if (settings.is(ValueKind::json)) file_.settings = snapshot_.text(StringId{settings.id()});
  keep_segments();
  keep_parts();
  for (const auto& [key, count] : unknown_counts_) {
    file_.unknown_keys.emplace_back(StringId{key}, count);
  }
  std::sort(file_.unknown_keys.begin(), file_.unknown_keys.end());
  std::stable_sort(file_.extras.begin(), file_.extras.end(),
                   [](const EventExtra& a, const EventExtra& b) { return a.event < b.event; });
}

/// The device's own segments stay; those under host_segments go to theirs.
void PickleRecords::keep_segments() {
  const auto range_in = [&](Key key) {
    const Value value = root_fields_[static_cast<std::size_t>(key)];
    return value.is(ValueKind::segments) ? ranges_[value.id()] : RowRange{};
  };
  const RowRange host = range_in(Key::host_segments);
  for (std::uint64_t s = host.first; s < host.end(); ++s) {
    copy_segment(snapshot_.segments, snapshot_.blocks, static_cast<std::size_t>(s),
                 file_.host_segments, file_.host_blocks);
  }
  SegmentColumns segments;
  BlockColumns blocks;
  std::vector<std::uint8_t> unaddressed;
  const RowRange own = range_in(Key::segments);
  for (std::uint64_t s = own.first; s < own.end(); ++s) {
    const auto row = static_cast<std::size_t>(s);
    if (!filter_.wants_device(snapshot_.segments.device[row])) continue;
    copy_segment(snapshot_.segments, snapshot_.blocks, row, segments, blocks);
    unaddressed.push_back(file_.unaddressed[row]);
  }
  snapshot_.segments = std::move(segments);
  snapshot_.blocks = std::move(blocks);
  file_.unaddressed = std::move(unaddressed);
}

/// What was read of each trace, and the state where it ends.
void PickleRecords::keep_parts() {
  if (!filter_.is_on()) return;
  file_.parts.resize(file_.traces.size());
  for (const RangedTrace& trace : filter_.traces()) {
    if (trace.place.is_host || trace.place.device >= file_.parts.size()) continue;
    const auto device = static_cast<std::uint8_t>(trace.place.device);
    file_.parts[device] = trace.part;
    if (trace.has_rest()) rewind_state(file_, device, trace);
  }
}

}  // namespace strandline::snapshot
