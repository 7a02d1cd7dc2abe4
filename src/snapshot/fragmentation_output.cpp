// SPDX-License-Identifier: Apache-2.0
// Fragmentation as JSON and as text.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

/// Pins shown below a segment in text.
constexpr std::size_t kPinsShown = 3;

Json pool_json(const PoolUse& pool) {
  Json json = place_json(pool.place);
  json.update({{"segments", pool.segments},
               {"reserved_bytes", pool.reserved},
               {"live_bytes", pool.live},
               {"requested_bytes", pool.requested},
               {"blocks", pool.blocks},
               {"free_bytes", pool.free},
               {"holes", pool.holes},
               {"largest_hole_bytes", pool.largest_hole},
               {"pinned_free_bytes", pool.pinned_free}});
  return json;
}

Json segment_json(const SegmentUse& use, std::size_t top) {
  Json json{{"address", use.address}, {"bytes", use.size}, {"is_expandable", use.is_expandable}};
  json.update(place_json(use.place));
  json.update({{"live_bytes", use.live},
               {"requested_bytes", use.requested},
               {"internal_bytes", use.internal()},
               {"blocks", use.blocks},
               {"free_bytes", use.free},
               {"holes", use.holes},
               {"largest_hole_bytes", use.largest_hole},
               {"lines_in_all", use.pins.size()},
               {"pinned_by", pins_json(use.pins, top)}});
  return json;
}

Json request_json(const SegmentRequest& request) {
  Json json{{"event", request.event},
            {"time_us", request.time_us},
            {"segment_bytes", request.segment_bytes},
            {"wanted_bytes", request.wanted}};
  json.update(place_json(request.place));
  json.update({{"line", location_json(request.line)},
               {"reserved_bytes", request.reserved},
               {"live_bytes", request.live},
               {"free_bytes", request.free},
               {"largest_hole_bytes", request.largest_hole},
               {"free_in_class_bytes", request.free_in_class},
               {"largest_in_class_bytes", request.largest_in_class},
               {"is_fragmented", request.is_fragmented()}});
  return json;
}

template <typename Entry, typename Convert>
Json first_of(const std::vector<Entry>& entries, std::size_t top, Convert&& convert) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(top, entries.size()); ++i) {
    list.push_back(convert(entries[i]));
  }
  return list;
}

std::uint64_t fragmented(const Fragmentation& device) {
  return static_cast<std::uint64_t>(
      std::count_if(device.requests.begin(), device.requests.end(),
                    [](const SegmentRequest& request) { return request.is_fragmented(); }));
}

std::string moment_text(const Fragmentation& device) {
  std::string text = device.is_peak ? "peak of requested bytes, " : "";
  if (device.after_event < 0) return text + "before the first event";
  return text +
         fmt::format("after event {}", with_commas(static_cast<std::uint64_t>(device.after_event)));
}

std::string summary_text(const Fragmentation& device) {
  const StateTotals& totals = device.totals;
  const std::uint64_t inside = totals.requested - totals.outside;
  const std::uint64_t internal = totals.live < inside ? 0 : totals.live - inside;
  std::string text = fmt::format("reserved   {:>12} in {}\n", size_text(totals.reserved),
                                 counted(device.segments.size(), "segment", "segments"));
  text += fmt::format("requested  {:>12}\n", size_text(inside));
  text += fmt::format("internal   {:>12}   rounding, and rests too small to split off\n",
                      size_text(internal));
  text += fmt::format("free       {:>12} in {}, the largest {}\n", size_text(totals.free),
                      counted(totals.holes, "hole", "holes"), size_text(totals.largest_hole));
  text += fmt::format("  pinned   {:>12}   in segments that live blocks keep\n",
                      size_text(device.pinned_free));
  text += fmt::format("  empty    {:>12}   in segments that could be returned\n",
                      size_text(totals.free - device.pinned_free));
  if (totals.outside > 0) {
    text += fmt::format("outside    {:>12} requested, in no segment that the file tells of\n",
                        size_text(totals.outside));
  }
  return text;
}

std::string pools_text(const Fragmentation& device) {
  std::string text = fmt::format("\n{:>12} {:>12} {:>12} {:>12} {:>12}  pool\n", "reserved", "live",
                                 "free", "largest hole", "pinned free");
  for (const PoolUse& pool : device.pools) {
    text += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>12}  {}\n", size_text(pool.reserved),
                        size_text(pool.live), size_text(pool.free), size_text(pool.largest_hole),
                        size_text(pool.pinned_free), place_text(pool.place));
  }
  return text;
}

std::string segments_text(const Fragmentation& device, std::size_t top) {
  const auto pinned = std::find_if(device.segments.begin(), device.segments.end(),
                                   [](const SegmentUse& use) { return use.pinned_free() == 0; });
  const auto count = static_cast<std::size_t>(pinned - device.segments.begin());
  if (count == 0) return "\nno segment has free bytes beside live blocks\n";
  std::string text = "\nsegments with the most free bytes that live blocks pin\n";
  for (std::size_t i = 0; i < std::min(top, count); ++i) {
    const SegmentUse& use = device.segments[i];
    text += fmt::format("  {:#x}  {} of {} free, largest hole {}, {}\n", use.address,
                        size_text(use.free), size_text(use.size), size_text(use.largest_hole),
                        place_text(use.place));
    text += pins_text(use.pins, 4, kPinsShown);
  }
  if (count > top) text += fmt::format("  … {} more segments (--top)\n", count - top);
  return text;
}

std::string requests_text(const Fragmentation& device, std::size_t top) {
  if (device.requests.empty()) return "\nno segment was obtained in the trace\n";
  std::string text = fmt::format(
      "\n{} obtained in the trace, {} of them with room enough in the pool, in pieces\n",
      counted(device.requests.size(), "segment", "segments"), with_commas(fragmented(device)));
  text += fmt::format("{:>10} {:>12} {:>12} {:>12}  {}\n", "at event", "wanted", "free in pool",
                      "largest hole", "line");
  for (std::size_t i = 0; i < std::min(top, device.requests.size()); ++i) {
    const SegmentRequest& request = device.requests[i];
    text += fmt::format("{:>10} {:>12} {:>12} {:>12}  {}\n", request.event,
                        request.wanted == 0 ? "?" : size_text(request.wanted),
                        size_text(request.free_in_class), size_text(request.largest_in_class),
                        line_text(request.line));
  }
  if (device.requests.size() > top) {
    text += fmt::format("… {} more (--top)\n", device.requests.size() - top);
  }
  return text;
}

}  // namespace

std::string fragmentation_json(const std::vector<Fragmentation>& devices, const std::string& file,
                               std::size_t top) {
  Json list = Json::array();
  for (const Fragmentation& device : devices) {
    list.push_back(
        {{"device", device.device},
         {"after_event", device.after_event},
         {"time_us", device.time_us},
         {"is_peak", device.is_peak},
         {"totals", totals_json(device.totals)},
         {"pinned_free_bytes", device.pinned_free},
         {"pools", first_of(device.pools, device.pools.size(), pool_json)},
         {"segments_in_all", device.segments.size()},
         {"segments", first_of(device.segments, top,
                               [&](const SegmentUse& use) { return segment_json(use, top); })},
         {"requests_in_all", device.requests.size()},
         {"fragmented_requests", fragmented(device)},
         {"requests", first_of(device.requests, top, request_json)},
         {"replay", facts_json(device.facts)}});
  }
  return document_text({{"format", "strandline.fragmentation"},
                        {"version", 1},
                        {"file", file},
                        {"devices", std::move(list)}});
}

std::string fragmentation_text(const std::vector<Fragmentation>& devices, const std::string& file,
                               std::size_t top) {
  if (devices.empty()) return printable(file) + ": no events and no segments\n";
  std::string text;
  for (const Fragmentation& device : devices) {
    if (!text.empty()) text += '\n';
    text +=
        fmt::format("{} · device {} · {}\n\n", printable(file), device.device, moment_text(device));
    text += summary_text(device);
    text += pools_text(device);
    text += segments_text(device, top);
    text += requests_text(device, top);
  }
  return text;
}

}  // namespace strandline::snapshot
