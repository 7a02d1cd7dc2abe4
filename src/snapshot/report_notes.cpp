// SPDX-License-Identifier: Apache-2.0
// Counters in words. A counter that is zero says nothing.
#include "snapshot/report_notes.h"

#include <fmt/format.h>

#include "snapshot/numbers.h"

namespace strandline::snapshot {
namespace {

class Notes {
 public:
  void add(std::string_view kind, std::uint64_t number, std::string text) {
    if (number == 0) return;
    notes_.push_back({.kind = std::string(kind), .number = number, .text = std::move(text)});
  }
  std::vector<Note> take() { return std::move(notes_); }

 private:
  std::vector<Note> notes_;
};

std::string plural(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", with_commas(number), number == 1 ? one : many);
}

void add_losses(Notes& notes, const Snapshot& snapshot) {
  const record::Counters& counters = snapshot.counters;
  if (!snapshot.fault.empty()) {
    notes.add("fault", 1, "the recorder turned itself off: " + snapshot.fault);
  }
  notes.add("ring_wrapped", counters.events_overwritten,
            fmt::format("the ring of {} events wrapped: the oldest {} are not in the snapshot; "
                        "the peak above is exact all the same (max_entries)",
                        with_commas(snapshot.options.max_entries),
                        with_commas(counters.events_overwritten)));
  notes.add("allocs_while_off", counters.allocs_while_off,
            fmt::format("{} made while recording was off: the peak is that of the recorded part",
                        plural(counters.allocs_while_off, "allocation was", "allocations were")));
  notes.add("below_min_size", counters.dropped_below_min_size,
            fmt::format("{} below min_size ({}) left out of the events",
                        plural(counters.dropped_below_min_size, "allocation or free",
                               "allocations and frees"),
                        size_text(snapshot.options.min_size)));
  notes.add("ids_refused", counters.ids_refused,
            fmt::format("{} met the cap of the recorder's tables and left out",
                        plural(counters.ids_refused, "name or stack", "names or stacks")));
  notes.add(
      "phases_refused", counters.phases_refused,
      fmt::format("{} past the cap not kept", plural(counters.phases_refused, "phase", "phases")));
  notes.add(
      "tracebacks_truncated", counters.tracebacks_truncated,
      fmt::format("{} deeper than {} frames without their middle",
                  plural(counters.tracebacks_truncated, "stack", "stacks"), record::kMaxFrames));
}

}  // namespace

std::vector<Note> notes_of(const Snapshot& snapshot, const RunInfo& run) {
  Notes notes;
  add_losses(notes, snapshot);
  const record::Counters& counters = snapshot.counters;
  notes.add("orphan_frees", counters.orphan_frees,
            fmt::format("{} of blocks never seen", plural(counters.orphan_frees, "free", "frees")));
  notes.add("double_allocs", counters.double_allocs,
            fmt::format("{} at an address still live: a free was missed",
                        plural(counters.double_allocs, "allocation", "allocations")));
  notes.add(
      "unknown_binds", counters.unknown_binds,
      fmt::format("{} of memory never seen", plural(counters.unknown_binds, "array", "arrays")));
  notes.add("lost_bytes", run.lost_bytes,
            fmt::format("{} active by the framework's own count belong to no recorded block",
                        size_text(run.lost_bytes)));
  const std::uint64_t children = std::max(run.children, counters.forks);
  notes.add("children", children,
            fmt::format("{} started by the program not recorded",
                        plural(children, "process", "processes")));
  return notes.take();
}

}  // namespace strandline::snapshot
