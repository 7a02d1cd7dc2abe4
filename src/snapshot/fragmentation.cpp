// SPDX-License-Identifier: Apache-2.0
// One replay of the trace: what was free before each new segment, and the whole at one moment.
#include "strandline/snapshot/fragmentation.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "snapshot/segment_use.h"

namespace strandline::snapshot {
namespace {

using record::Action;

/// How far behind a new segment the alloc it was obtained for may stand.
constexpr std::uint64_t kLookAhead = 16;

class Study {
 public:
  Study(const SnapshotFile& file, const DeviceAccount& account, const Moment& moment,
        const AnswerOptions& options)
      : file_(file),
        events_(file.snapshot.events),
        options_(options),
        frames_(file.snapshot, {}, options.own),
        replay_(file, account.device) {
    result_.device = account.device;
    moment_ = events_before(moment, file, account);
    result_.after_event = static_cast<std::int64_t>(moment_) - 1;
    result_.is_peak = result_.after_event == account.active_peak_after_event;
  }

  Fragmentation run() {
    for (std::uint64_t i = 0;; ++i) {
      if (i == moment_) keep_moment();
      if (i >= replay_.trace().count) break;
      const auto row = static_cast<std::size_t>(replay_.trace().first + i);
      if (obtains(events_.action[row])) keep_request(i, row);
      replay_.step();
    }
    result_.facts = replay_.facts();
    std::stable_sort(result_.requests.begin(), result_.requests.end(),
                     [](const SegmentRequest& a, const SegmentRequest& b) {
                       return a.free_in_class > b.free_in_class;
                     });
    return std::move(result_);
  }

 private:
  static bool obtains(Action action) noexcept {
    return action == Action::segment_alloc || action == Action::segment_map ||
           action == Action::alloc_new;
  }

  void keep_moment() {
    result_.totals = replay_.totals();
    if (moment_ > 0) {
      result_.time_us =
          events_.time_us[static_cast<std::size_t>(replay_.trace().first + moment_ - 1)];
    }
    result_.segments = segments_in_use(file_, replay_, frames_, options_);
    sum_pools();
    if (options_.matches) {
      std::erase_if(result_.segments, [](const SegmentUse& use) { return use.pins.empty(); });
    }
    std::sort(result_.segments.begin(), result_.segments.end(),
              [](const SegmentUse& a, const SegmentUse& b) {
                return std::tuple(b.pinned_free(), b.free, a.address) <
                       std::tuple(a.pinned_free(), a.free, b.address);
              });
  }

  void sum_pools() {
    std::map<Place, PoolUse> pools;
    for (const SegmentUse& use : result_.segments) {
      PoolUse& pool = pools[use.place];
      pool.place = use.place;
      ++pool.segments;
      pool.reserved += use.size;
      pool.live += use.live;
      pool.requested += use.requested;
      pool.blocks += use.blocks;
      pool.free += use.free;
      pool.holes += use.holes;
      pool.largest_hole = std::max(pool.largest_hole, use.largest_hole);
      pool.pinned_free += use.pinned_free();
      result_.pinned_free += use.pinned_free();
    }
    for (auto& [place, pool] : pools) result_.pools.push_back(pool);
    std::stable_sort(result_.pools.begin(), result_.pools.end(),
                     [](const PoolUse& a, const PoolUse& b) { return a.reserved > b.reserved; });
  }

  /// The alloc that a new segment is for follows it; nothing else of its stream stands between.
  std::optional<std::size_t> alloc_after(std::size_t row) const {
    if (record::begins_block(events_.action[row])) return row;
    const std::uint64_t end = std::min(replay_.trace().end(), row + 1 + kLookAhead);
    for (std::uint64_t i = row + 1; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (record::begins_block(events_.action[at]) && events_.stream[at] == events_.stream[row]) {
        return at;
      }
    }
    return std::nullopt;
  }

  void keep_request(std::uint64_t index, std::size_t row) {
    const std::optional<std::size_t> alloc = alloc_after(row);
    const bool is_whole = record::is_whole_buffer(events_.action[row]);
    PlaceClass place{.stream = events_.stream[row], .pool = events_.pool[row]};
    std::uint64_t wanted = 0;
    if (alloc) {
      wanted = is_whole ? events_.size[*alloc] : replay_.rules().rounded(events_.requested[*alloc]);
    }
    place.is_small = !is_whole && SizeRules::is_small(wanted != 0 ? wanted : events_.size[row] / 2);
    const StateTotals totals = replay_.totals();
    const auto sizes = replay_.hole_sizes().find(place);
    const HoleSizes none;
    const HoleSizes& in_class = sizes == replay_.hole_sizes().end() ? none : sizes->second;
    result_.requests.push_back({.event = static_cast<std::int64_t>(index),
                                .time_us = events_.time_us[row],
                                .segment_bytes = events_.size[row],
                                .wanted = wanted,
                                .place = resolved(file_.snapshot, place),
                                .line = line_of(frames_, events_.stack[alloc.value_or(row)]),
                                .reserved = totals.reserved,
                                .live = totals.live,
                                .free = totals.free,
                                .largest_hole = totals.largest_hole,
                                .free_in_class = in_class.bytes,
                                .largest_in_class = in_class.largest()});
  }

  const SnapshotFile& file_;
  const EventColumns& events_;
  const AnswerOptions& options_;
  UserFrames frames_;
  StateReplay replay_;
  std::uint64_t moment_ = 0;
  Fragmentation result_;
};

}  // namespace

std::vector<Fragmentation> make_fragmentation(const SnapshotFile& file, const Moment& moment,
                                              std::optional<std::uint8_t> device,
                                              const AnswerOptions& options) {
  std::vector<Fragmentation> devices;
  for (const DeviceAccount& account : make_account(file, device).devices) {
    devices.push_back(Study(file, account, moment, options).run());
  }
  return devices;
}

}  // namespace strandline::snapshot
