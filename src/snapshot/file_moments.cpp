// SPDX-License-Identifier: Apache-2.0
// Moments of a trace: the curve, what is held, the phases around it. Each is linear in the events.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "snapshot/file_links.h"
#include "snapshot/lifetimes.h"
#include "snapshot/wrapping.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/file_report.h"

namespace strandline::snapshot {
namespace {

RowRange trace_of(const SnapshotFile& file, std::uint8_t device) {
  return device < file.traces.size() ? file.traces[device] : RowRange{};
}

class HeldBlocks {
 public:
  HeldBlocks(const SnapshotFile& file, std::uint8_t device, std::int64_t after_event)
      : file_(file),
        events_(file.snapshot.events),
        device_(device),
        trace_(trace_of(file, device)),
        moment_(trace_.first + static_cast<std::uint64_t>(after_event + 1)) {}

  BlockColumns run() {
    for (std::uint64_t i = trace_.first; i < trace_.end(); ++i) step(static_cast<std::size_t>(i));
    if (moment_ >= trace_.end()) held_ = open_;
    std::vector<std::uint64_t> rows;
    held_.for_each([&](std::uint64_t, std::uint64_t number) { rows.push_back(number - 1); });
    std::sort(rows.begin(), rows.end());
    for (const std::uint64_t row : rows) {
      blocks_.push_back(block_of(events_.row(static_cast<std::size_t>(row)), row + 1));
    }
    add_live_without_alloc();
    return std::move(blocks_);
  }

 private:
  std::uint64_t key(std::size_t i) const { return place_key(device_, events_.address[i]); }

  void step(std::size_t i) {
    if (i == moment_) held_ = open_;
    if (record::begins_block(events_.action[i])) {
      open_[key(i)] = i + 1;
    } else if (record::ends_block(events_.action[i]) && !open_.erase(key(i)) && i >= moment_) {
      // A free without an alloc: who allocated it, nobody can tell.
      BlockRow block = block_of(events_.row(i), 0);
      block.stack = {};
      block.forward = {};
      block.alloc_time_us = 0;
      block.action = record::Action::none;
      blocks_.push_back(block);
    }
  }

  void add_live_without_alloc() {
    const BlockColumns& blocks = file_.snapshot.blocks;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      if (blocks.device[b] != device_ || blocks.use[b] == record::BlockUse::inactive) continue;
      if (open_.find(place_key(device_, blocks.address[b])) != nullptr) continue;
      BlockRow block = blocks.row(b);
      block.size = block.requested;
      blocks_.push_back(block);
    }
  }

  const SnapshotFile& file_;
  const EventColumns& events_;
  std::uint8_t device_;
  RowRange trace_;
  std::uint64_t moment_;         // index of the first event after it
  FlatMap<std::uint64_t> open_;  // event that began what is open, plus one
  FlatMap<std::uint64_t> held_;  // the same at the moment
  BlockColumns blocks_;
};

}  // namespace

std::uint64_t events_before(const Moment& moment, const SnapshotFile& file,
                            const DeviceAccount& account) {
  const RowRange trace = trace_of(file, account.device);
  // Events of the range; those before it are allocs that stand for the state at its start.
  const std::uint64_t carried = account.part ? account.part->carried : 0;
  const auto count = static_cast<std::int64_t>(account.events);
  if (moment.event) {
    const std::int64_t before = account.number_in_file(-1);
    if (*moment.event < before || *moment.event > before + count) {
      throw OutOfRange(error_message("events_before", "event", fmt::format("{}", *moment.event),
                                     fmt::format("{} to {}", before, before + count)));
    }
    return carried + static_cast<std::uint64_t>(*moment.event - before);
  }
  if (moment.time_us) {
    const auto begin =
        file.snapshot.events.time_us.begin() + static_cast<std::ptrdiff_t>(trace.first);
    const auto end = begin + static_cast<std::ptrdiff_t>(trace.count);
    const auto first = begin + static_cast<std::ptrdiff_t>(carried);
    return static_cast<std::uint64_t>(std::upper_bound(first, end, *moment.time_us) - begin);
  }
  if (moment.fraction) {
    if (!(*moment.fraction >= 0 && *moment.fraction <= 1)) {
      throw OutOfRange(error_message("events_before", "fraction",
                                     fmt::format("{}", *moment.fraction), "0 to 1"));
    }
    return carried +
           static_cast<std::uint64_t>(std::llround(*moment.fraction * static_cast<double>(count)));
  }
  return static_cast<std::uint64_t>(account.active_peak_after_event + 1);
}

BlockColumns blocks_held(const SnapshotFile& file, std::uint8_t device, std::int64_t after_event) {
  return HeldBlocks(file, device, after_event).run();
}

std::vector<std::int64_t> requested_curve(const SnapshotFile& file, std::uint8_t device) {
  const RowRange trace = trace_of(file, device);
  const BlockColumns& blocks = file.snapshot.blocks;
  const EventColumns& events = file.snapshot.events;
  std::int64_t level = 0;
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    if (blocks.device[b] != device || blocks.use[b] == record::BlockUse::inactive) continue;
    level = wrapping_add(level, static_cast<std::int64_t>(blocks.requested[b]));
  }
  std::vector<std::int64_t> curve(static_cast<std::size_t>(trace.count) + 1);
  for (std::size_t i = curve.size() - 1;; --i) {
    curve[i] = level;
    if (i == 0) return curve;
    const auto row = static_cast<std::size_t>(trace.first) + i - 1;
    const auto size = static_cast<std::int64_t>(events.size[row]);
    if (record::begins_block(events.action[row])) level = wrapping_subtract(level, size);
    if (record::ends_block(events.action[row])) level = wrapping_add(level, size);
  }
}

std::vector<PhaseRow> phases_of(const SnapshotFile& file, std::uint8_t device,
                                const std::vector<std::int64_t>& curve) {
  const RowRange trace = trace_of(file, device);
  const auto begin =
      file.snapshot.events.time_us.begin() + static_cast<std::ptrdiff_t>(trace.first);
  const auto end = begin + static_cast<std::ptrdiff_t>(trace.count);
  const auto events_before = [&](std::int64_t time_us) {
    return static_cast<std::size_t>(std::lower_bound(begin, end, time_us) - begin);
  };
  const auto level = [&](std::size_t events) {
    const std::int64_t bytes = curve.empty() ? 0 : curve[events];
    return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  };
  std::vector<Annotation> marks;
  for (const Annotation& mark : file.annotations) {
    if (mark.device == device) marks.push_back(mark);
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Annotation& a, const Annotation& b) { return a.time_us < b.time_us; });
  std::vector<PhaseRow> phases;
  std::map<StringId, std::vector<std::size_t>> open;
  for (const Annotation& mark : marks) {
    const std::size_t before = events_before(mark.time_us);
    if (mark.stage == Stage::start) {
      open[mark.name].push_back(phases.size());
      phases.push_back({.name = mark.name,
                        .number = static_cast<std::uint32_t>(phases.size() + 1),
                        .open = true,
                        .start_us = mark.time_us,
                        .end_us = file.snapshot.taken_us,
                        .start_sequence = trace.first + before + 1,
                        .end_sequence = UINT64_MAX,
                        .start_active = level(before)});
    } else if (mark.stage == Stage::end && !open[mark.name].empty()) {
      PhaseRow& phase = phases[open[mark.name].back()];
      open[mark.name].pop_back();
      phase.open = false;
      phase.end_us = mark.time_us;
      phase.end_sequence = trace.first + before + 1;
      phase.end_active = level(before);
    }
  }
  return phases;
}

}  // namespace strandline::snapshot
