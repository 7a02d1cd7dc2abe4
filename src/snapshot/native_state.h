// SPDX-License-Identifier: Apache-2.0
// Facts of a snapshot as numbered values, in and out; one list for both ways.
#pragma once

#include "snapshot/native_rows.h"

namespace strandline::snapshot::native {

/// Calls `visit(number, value)` for each counter that is one number.
template <typename Counters, typename Visit>
void visit_counters(Counters& counters, Visit&& visit) {
  visit(Fact::events_overwritten, counters.events_overwritten);
  visit(Fact::allocs_while_off, counters.allocs_while_off);
  visit(Fact::dropped_below_min_size, counters.dropped_below_min_size);
  visit(Fact::dropped_bytes, counters.dropped_bytes);
  visit(Fact::orphan_frees, counters.orphan_frees);
  visit(Fact::double_allocs, counters.double_allocs);
  visit(Fact::unknown_binds, counters.unknown_binds);
  visit(Fact::tracebacks_truncated, counters.tracebacks_truncated);
  visit(Fact::ids_refused, counters.ids_refused);
  visit(Fact::phases_refused, counters.phases_refused);
  visit(Fact::sink_events_missed, counters.sink_events_missed);
  visit(Fact::forks, counters.forks);
}

/// The fact of a measure's peak.
constexpr Fact peak_fact(Fact of_capacity, std::size_t measure) {
  return static_cast<Fact>(static_cast<std::uint16_t>(of_capacity) + 4 * measure);
}

}  // namespace strandline::snapshot::native
