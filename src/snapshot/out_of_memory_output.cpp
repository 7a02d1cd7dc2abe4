// SPDX-License-Identifier: Apache-2.0
// Out-of-memory explained as JSON and as text.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/out_of_memory.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

/// Options of a kind, and pins of one, in text.
constexpr std::size_t kOptionsShown = 3;

Json merge_json(const MergeOption& option, std::size_t top) {
  return {{"segment", option.segment}, {"address", option.address},
          {"bytes", option.bytes},     {"live_bytes", option.live},
          {"blocks", option.blocks},   {"pinned_by", pins_json(option.pins, top)}};
}

Json release_json(const ReleaseOption& option, std::size_t top) {
  Json json{{"segment", option.segment}, {"bytes", option.bytes}};
  json.update(place_json(option.place));
  json.update({{"live_bytes", option.live},
               {"blocks", option.blocks},
               {"device_free_then_bytes", option.device_free_then},
               {"pinned_by", pins_json(option.pins, top)}});
  return json;
}

Json elsewhere_json(const PoolUse& use) {
  Json json = place_json(use.place);
  json.update(
      {{"free_bytes", use.free}, {"holes", use.holes}, {"largest_hole_bytes", use.largest_hole}});
  return json;
}

Json failure_json(const OutOfMemory& failure, std::size_t top) {
  Json elsewhere = Json::array();
  for (const PoolUse& use : failure.elsewhere) elsewhere.push_back(elsewhere_json(use));
  Json merges = Json::array();
  for (std::size_t i = 0; i < std::min(top, failure.merges.size()); ++i) {
    merges.push_back(merge_json(failure.merges[i], top));
  }
  Json releases = Json::array();
  for (std::size_t i = 0; i < std::min(top, failure.releases.size()); ++i) {
    releases.push_back(release_json(failure.releases[i], top));
  }
  Json json{{"device", failure.device},
            {"event", failure.event},
            {"is_question", failure.is_question},
            {"time_us", failure.time_us},
            {"asked_bytes", failure.asked},
            {"needed_bytes", failure.needed},
            {"segment_bytes", failure.segment_bytes},
            {"device_free_bytes", failure.device_free ? Json(*failure.device_free) : Json(nullptr)},
            {"fits", failure.fits()}};
  json.update(place_json(failure.place));
  json.update({{"line", location_json(failure.line)},
               {"stack", stack_json(failure.stack)},
               {"totals", totals_json(failure.totals)},
               {"free_in_class_bytes", failure.free_in_class},
               {"largest_in_class_bytes", failure.largest_in_class},
               {"elsewhere", std::move(elsewhere)},
               {"empty_segments_bytes", failure.empty_segments},
               {"merges_in_all", failure.merges.size()},
               {"merges", std::move(merges)},
               {"releases_in_all", failure.releases.size()},
               {"releases", std::move(releases)},
               {"release_suffices", failure.release_suffices},
               {"lines_in_all", failure.holders.size()},
               {"holders", pins_json(failure.holders, top)}});
  return json;
}

std::string heading(const OutOfMemory& failure, const std::string& file) {
  if (!failure.is_question) {
    return fmt::format("{} · device {} · out of memory at event {}\n\n", printable(file),
                       failure.device, with_commas(static_cast<std::uint64_t>(failure.event)));
  }
  return fmt::format(
      "{} · device {} · {}: {}\n\n", printable(file), failure.device,
      failure.event < 0
          ? std::string("before the first event")
          : fmt::format("after event {}", with_commas(static_cast<std::uint64_t>(failure.event))),
      failure.fits() ? "a hole is large enough" : "no hole is large enough");
}

std::string facts_text(const OutOfMemory& failure) {
  std::string text =
      fmt::format("asked      {:>12}   {}", size_text(failure.asked), place_text(failure.place));
  if (failure.line) text += fmt::format(", by {}", line_text(failure.line));
  text += "\n";
  if (failure.device_free) {
    text += fmt::format("device     {:>12} free; a new segment takes {}\n",
                        size_text(*failure.device_free), size_text(failure.segment_bytes));
  }
  text +=
      fmt::format("reserved   {:>12}   live {}, free {} in {}\n",
                  size_text(failure.totals.reserved), size_text(failure.totals.live),
                  size_text(failure.totals.free), counted(failure.totals.holes, "hole", "holes"));
  text += fmt::format("free       {:>12} in segments that could serve it, the largest hole {}\n",
                      size_text(failure.free_in_class), size_text(failure.largest_in_class));
  for (const PoolUse& use : failure.elsewhere) {
    text += fmt::format("  beside   {:>12} in {} of no use to it: {}\n", size_text(use.free),
                        counted(use.holes, "hole", "holes"), place_text(use.place));
  }
  return text;
}

std::string merges_text(const OutOfMemory& failure, std::size_t top) {
  if (failure.merges.empty()) {
    return "\nin no segment could holes be merged by giving up less than was asked\n";
  }
  std::string text = "\nmerge: without these blocks there would be one hole that is large enough\n";
  const std::size_t shown = std::min({top, failure.merges.size(), kOptionsShown});
  for (std::size_t i = 0; i < shown; ++i) {
    const MergeOption& option = failure.merges[i];
    text += fmt::format("  {:#x}  {} live in {}\n", option.address, size_text(option.live),
                        counted(option.blocks, "block", "blocks"));
    text += pins_text(option.pins, 4, kOptionsShown);
  }
  if (failure.merges.size() > shown) {
    text += fmt::format("  … in {} more segments\n", failure.merges.size() - shown);
  }
  return text;
}

std::string releases_text(const OutOfMemory& failure, std::size_t top) {
  if (failure.releases.empty()) return {};
  std::uint64_t live = 0;
  for (const ReleaseOption& option : failure.releases) live += option.live;
  std::string text = fmt::format(
      "\nrelease: without {} in {}, the device would have {} free{}\n", size_text(live),
      counted(failure.releases.size(), "segment", "segments"),
      size_text(failure.releases.back().device_free_then),
      failure.release_suffices ? ", enough for a new segment" : ", which is not enough");
  const std::size_t shown = std::min({top, failure.releases.size(), kOptionsShown});
  for (std::size_t i = 0; i < shown; ++i) {
    const ReleaseOption& option = failure.releases[i];
    text += fmt::format("  {:#x}  {}, {} live in {}\n", option.segment, size_text(option.bytes),
                        size_text(option.live), counted(option.blocks, "block", "blocks"));
    text += pins_text(option.pins, 4, kOptionsShown);
  }
  if (failure.releases.size() > shown) {
    text += fmt::format("  … {} more segments\n", failure.releases.size() - shown);
  }
  return text;
}

}  // namespace

std::string out_of_memory_json(const std::vector<OutOfMemory>& failures, const std::string& file,
                               std::size_t top) {
  Json list = Json::array();
  for (const OutOfMemory& failure : failures) list.push_back(failure_json(failure, top));
  return document_text({{"format", "strandline.oom"},
                        {"version", 1},
                        {"file", file},
                        {"failures", std::move(list)}});
}

std::string out_of_memory_text(const std::vector<OutOfMemory>& failures, const std::string& file,
                               std::size_t top) {
  if (failures.empty()) {
    return printable(file) + ": no allocation failed in the trace (ask about a size with --size)\n";
  }
  std::string text;
  for (const OutOfMemory& failure : failures) {
    if (!text.empty()) text += '\n';
    text += heading(failure, file) + facts_text(failure);
    text += merges_text(failure, top) + releases_text(failure, top);
    text += "\nlive, by line\n" + pins_text(failure.holders, 2, top);
  }
  return text;
}

}  // namespace strandline::snapshot
