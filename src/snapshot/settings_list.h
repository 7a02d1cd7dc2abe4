// SPDX-License-Identifier: Apache-2.0
// The recorder's facts and counters under the names they have in allocator_settings.
#pragma once

#include <string>

#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// Calls `visit(name, value)` for each, in the order of the file.
template <typename Visit>
void each_setting(const Snapshot& snapshot, Visit&& visit) {
  const record::Counters& counters = snapshot.counters;
  const auto setting = [&](std::string_view key, std::uint64_t value) {
    visit("strandline_" + std::string(key), value);
  };
  setting("max_entries", snapshot.options.max_entries);
  setting("min_size", snapshot.options.min_size);
  setting("first_sequence", snapshot.first_sequence);
  setting("events_overwritten", counters.events_overwritten);
  setting("allocs_while_off", counters.allocs_while_off);
  setting("dropped_below_min_size", counters.dropped_below_min_size);
  setting("dropped_bytes", counters.dropped_bytes);
  setting("orphan_frees", counters.orphan_frees);
  setting("double_allocs", counters.double_allocs);
  setting("unknown_binds", counters.unknown_binds);
  setting("tracebacks_truncated", counters.tracebacks_truncated);
  setting("ids_refused", counters.ids_refused);
  setting("phases_refused", counters.phases_refused);
  setting("sink_events_missed", counters.sink_events_missed);
  setting("forks", counters.forks);
  if (snapshot.peak[0].bytes != 0) setting("peak_active", snapshot.peak[0].bytes);
  if (snapshot.peak[1].bytes != 0) setting("peak_requested", snapshot.peak[1].bytes);
  for (std::size_t a = 1; a < record::kActionCount; ++a) {
    if (counters.events[a] == 0) continue;
    const std::string name(record::action_name(static_cast<record::Action>(a)));
    setting("events_" + name, counters.events[a]);
    setting("bytes_" + name, counters.bytes[a]);
  }
}

}  // namespace strandline::snapshot
