// SPDX-License-Identifier: Apache-2.0
// The books as JSON and as text.
#include <fmt/format.h>

#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

Json optional_json(const std::optional<std::uint64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json device_json(const DeviceAccount& device) {
  Json fields{
      {"device", device.device},
      {"events", device.events},
      {"actions", device.actions},
      {"active_start", device.active_start},
      {"active_end", device.active_end},
      {"active_peak", device.active_peak},
      {"active_lowest", device.active_lowest},
      {"active_peak_after_event", device.number_in_file(device.active_peak_after_event)},
      {"live_blocks", device.live_blocks},
      {"live_rounding_bytes", device.live_rounding_bytes},
      {"live_without_alloc_event", optional_json(device.live_without_alloc_event)},
      {"before_bytes", device.before_bytes},
      {"orphan_frees", device.orphan_frees},
      {"orphan_bytes", device.orphan_bytes},
      {"lost_frees", optional_json(device.lost_frees)},
      {"double_allocs", device.double_allocs},
      {"broken_segments", device.broken_segments},
      {"residual", device.residual},
      {"verdict", verdict_text(device.verdict)},
      {"segments", device.segments},
      {"reserved", device.reserved},
      {"cached", device.cached},
      {"largest_free_block", device.largest_free_block},
      {"max_stack_depth", device.max_stack_depth},
  };
  if (device.part) {
    fields["range"] = {{"first_event", device.part->first_event},
                       {"carried", device.part->carried},
                       {"in_file", device.part->in_file}};
  }
  return fields;
}

std::string signed_size(std::int64_t bytes) {
  const std::uint64_t magnitude =
      bytes < 0 ? ~static_cast<std::uint64_t>(bytes) + 1 : static_cast<std::uint64_t>(bytes);
  return (bytes < 0 ? "-" : "") + size_text(magnitude);
}

void row(std::string& out, std::string_view name, std::string_view value) {
  out += fmt::format("  {:<22} {}\n", name, value);
}

void count_row(std::string& out, std::string_view name, const std::optional<std::uint64_t>& count,
               std::string_view meaning) {
  if (!count) return row(out, name, "unknown: blocks have no addresses");
  if (*count > 0) row(out, name, fmt::format("{}   {}", with_commas(*count), meaning));
}

std::string range_text(const DeviceAccount& device) {
  return fmt::format("events {} to {} of {}; {} blocks alive before it",
                     with_commas(device.part->first_event),
                     with_commas(device.part->first_event + device.events),
                     with_commas(device.part->in_file), with_commas(device.part->carried));
}

std::string device_text(const DeviceAccount& device) {
  std::string out = fmt::format("device {}: {}\n", device.device, verdict_text(device.verdict));
  row(out, "requested at the end",
      fmt::format("{} in {} blocks", signed_size(device.active_end),
                  with_commas(device.live_blocks)));
  row(out, "requested at the start", signed_size(device.active_start));
  const std::int64_t peak_event = device.number_in_file(device.active_peak_after_event);
  row(out, "peak of requested",
      peak_event < 0 ? fmt::format("{} before the first event", signed_size(device.active_peak))
                     : fmt::format("{} after event {}", signed_size(device.active_peak),
                                   with_commas(static_cast<std::uint64_t>(peak_event))));
  row(out, "rounding", signed_size(device.live_rounding_bytes));
  row(out, "reserved",
      fmt::format("{} in {} segments, of it {} cached", size_text(device.reserved),
                  with_commas(device.segments), signed_size(device.cached)));
  row(out, "events", with_commas(device.events));
  if (device.part) {
    row(out, "range", range_text(device));
  }
  count_row(out, "older than the trace", device.live_without_alloc_event,
            fmt::format("live blocks without an alloc, {}", size_text(device.before_bytes)));
  count_row(out, "orphan frees", device.orphan_frees,
            fmt::format("of blocks from before the trace, {}", size_text(device.orphan_bytes)));
  count_row(out, "lost frees", device.lost_frees, "allocated, never freed, and not there");
  count_row(out, "double allocs", device.double_allocs, "at an address still open");
  count_row(out, "broken segments", device.broken_segments,
            "blocks with holes, overlaps or a wrong sum");
  row(out, "residual",
      device.residual == 0
          ? std::string("0: the trace and the blocks agree")
          : fmt::format("{} that no event and no block explains", signed_size(device.residual)));
  return out;
}

}  // namespace

std::string account_json(const Account& account, const std::string& file) {
  Json unknown = Json::object();
  for (const auto& [key, count] : account.unknown_keys) unknown[key] = count;
  Json devices = Json::array();
  for (const DeviceAccount& device : account.devices) devices.push_back(device_json(device));
  const Json document{{"format", "strandline.check"},
                      {"version", 1},
                      {"file", file},
                      {"keys", account.keys},
                      {"annotations", account.annotations},
                      {"host_events", account.host_events},
                      {"host_reserved", account.host_reserved},
                      {"unknown_keys", std::move(unknown)},
                      {"skipped_values", account.skipped_values},
                      {"devices", std::move(devices)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string account_text(const Account& account, const std::string& file) {
  std::string out = fmt::format("{}\n", printable(file));
  for (const DeviceAccount& device : account.devices) out += device_text(device);
  if (account.devices.empty()) out += "no events and no segments\n";
  if (account.host_events > 0 || account.host_reserved > 0) {
    out += fmt::format("host: {} events, {} pinned\n", with_commas(account.host_events),
                       size_text(account.host_reserved));
  }
  for (const auto& [key, count] : account.unknown_keys) {
    out += fmt::format("unknown key \"{}\", {} times\n", printable(key), with_commas(count));
  }
  if (account.skipped_values > 0) {
    out += fmt::format("{} values skipped: not of the kind of their list, or too large\n",
                       with_commas(account.skipped_values));
  }
  return out;
}

}  // namespace strandline::snapshot
