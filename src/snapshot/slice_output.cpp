// SPDX-License-Identifier: Apache-2.0
// What a slice holds, as JSON and as text.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/printable.h"
#include "strandline/snapshot/slice.h"

namespace strandline::snapshot {

namespace {

/// The books of the part: where its curve begins and ends.
std::optional<DeviceAccount> account_of(const Slice& slice, std::uint8_t device) {
  for (DeviceAccount& account : make_account(slice.file, device).devices) {
    return std::move(account);
  }
  return std::nullopt;
}

}  // namespace

std::string slice_json(const Slice& slice, const std::string& file, const std::string& output) {
  Json devices = Json::array();
  for (const SliceDevice& device : slice.devices) {
    const DeviceAccount account = account_of(slice, device.device).value_or(DeviceAccount{});
    devices.push_back({{"device", device.device},
                       {"first_event", device.kept.first},
                       {"events", device.kept.count},
                       {"of_events", device.of_events},
                       {"active_start", account.active_start},
                       {"active_end", account.active_end},
                       {"segments", account.segments},
                       {"verdict", verdict_text(account.verdict)},
                       {"replay", facts_json(device.facts)}});
  }
  return document_text({{"format", "strandline.slice"},
                        {"version", 1},
                        {"file", file},
                        {"output", output},
                        {"annotations", slice.file.annotations.size()},
                        {"host_events_left", slice.host_events_left},
                        {"host_segments_left", slice.host_segments_left},
                        {"devices", std::move(devices)}});
}

std::string slice_text(const Slice& slice, const std::string& file, const std::string& output) {
  std::string text;
  for (const SliceDevice& device : slice.devices) {
    const DeviceAccount account = account_of(slice, device.device).value_or(DeviceAccount{});
    text += fmt::format(
        "device {}: events {} to {} of {}, requested {} before and {} after, {}: {}\n",
        device.device, with_commas(device.kept.first), with_commas(device.kept.end()),
        with_commas(device.of_events),
        size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(account.active_start, 0))),
        size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(account.active_end, 0))),
        counted(account.segments, "segment", "segments"), verdict_text(account.verdict));
    if (device.facts.lost_blocks > 0) {
      text += fmt::format("  {} lived where another was allocated: left out\n",
                          counted(device.facts.lost_blocks, "block", "blocks"));
    }
  }
  if (slice.devices.empty()) return printable(file) + ": no events and no segments\n";
  if (slice.host_events_left + slice.host_segments_left > 0) {
    text += fmt::format("not kept: {} events and {} segments of host memory\n",
                        with_commas(slice.host_events_left), with_commas(slice.host_segments_left));
  }
  return text + fmt::format("written to {}\n", printable(output));
}

}  // namespace strandline::snapshot
