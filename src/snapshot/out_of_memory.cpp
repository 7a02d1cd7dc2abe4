// SPDX-License-Identifier: Apache-2.0
// The state at each failure, and the cheapest ways it could have been served.
#include "strandline/snapshot/out_of_memory.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "snapshot/segment_use.h"

namespace strandline::snapshot {
namespace {

using record::Action;

class Explainer {
 public:
  Explainer(const SnapshotFile& file, std::uint8_t device, const AnswerOptions& options)
      : file_(file),
        events_(file.snapshot.events),
        options_(options),
        frames_(file.snapshot, {}, options.own),
        replay_(file, device),
        device_(device) {}

  void explain_events(std::vector<OutOfMemory>& failures) {
    const RowRange trace = replay_.trace();
    for (std::uint64_t i = 0; i < trace.count; ++i) {
      const auto row = static_cast<std::size_t>(trace.first + i);
      if (events_.action[row] != Action::oom) continue;
      replay_.advance_to(i);
      OutOfMemory failure{.event = static_cast<std::int64_t>(i),
                          .time_us = events_.time_us[row],
                          .asked = events_.requested[row],
                          .device_free = events_.address[row]};
      failure.line = line_of(frames_, events_.stack[row]);
      for (StackId node = events_.stack[row]; node; node = file_.snapshot.stacks.parent(node)) {
        failure.stack.push_back(frames_.location(file_.snapshot.stacks.frame(node)));
      }
      explain(failure, {.stream = events_.stream[row], .pool = events_.pool[row]});
      failures.push_back(std::move(failure));
    }
  }

  OutOfMemory answer(const SizeQuestion& question, std::uint64_t moment) {
    replay_.advance_to(moment);
    OutOfMemory failure{.event = static_cast<std::int64_t>(moment) - 1,
                        .is_question = true,
                        .asked = question.bytes};
    if (moment > 0) {
      failure.time_us =
          events_.time_us[static_cast<std::size_t>(replay_.trace().first + moment - 1)];
    }
    explain(failure, {.stream = stream_of(question.stream)});
    return failure;
  }

 private:
  /// One item of a segment: a live block or a hole.
  struct Item {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    const ReplayBlock* block = nullptr;
  };

  StreamId stream_of(std::uint64_t handle) const {
    const auto& streams = file_.snapshot.streams;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].first == handle) return StreamId{static_cast<std::uint32_t>(i + 1)};
    }
    return {};
  }

  void explain(OutOfMemory& failure, PlaceClass place) {
    failure.device = device_;
    failure.needed = replay_.rules().rounded(failure.asked);
    failure.segment_bytes = SizeRules::segment_bytes(failure.needed);
    place.is_small = SizeRules::is_small(failure.needed);
    failure.place = resolved(file_.snapshot, place);
    failure.totals = replay_.totals();
    failure.requested_live = failure.totals.requested;
    const auto sizes = replay_.hole_sizes().find(place);
    if (sizes != replay_.hole_sizes().end()) {
      failure.free_in_class = sizes->second.bytes;
      failure.largest_in_class = sizes->second.largest();
    }
    find_elsewhere(failure, place);
    find_merges(failure, place);
    find_releases(failure);
    PinSums holders(frames_);
    for (const auto& [address, block] : replay_.blocks()) {
      const BlockRow row = replay_.row_of(address, block);
      if (options_.counts(row)) holders.add(row);
    }
    failure.holders = holders.pins();
  }

  void find_elsewhere(OutOfMemory& failure, const PlaceClass& own) const {
    for (const auto& [place, sizes] : replay_.hole_sizes()) {
      if (place == own || sizes.bytes == 0) continue;
      PoolUse use{.place = resolved(file_.snapshot, place)};
      use.free = sizes.bytes;
      use.largest_hole = sizes.largest();
      for (const auto& [size, count] : sizes.counts) use.holes += count;
      failure.elsewhere.push_back(use);
    }
    std::stable_sort(failure.elsewhere.begin(), failure.elsewhere.end(),
                     [](const PoolUse& a, const PoolUse& b) { return a.free > b.free; });
  }

  std::vector<Item> items_of(std::uint64_t begin, std::uint64_t end) const {
    std::vector<Item> items;
    auto hole = replay_.holes().lower_bound(begin);
    auto block = replay_.blocks().lower_bound(begin);
    const auto add_block = [&] {
      if (block->second.inside) items.push_back({block->first, block->second.size, &block->second});
      ++block;
    };
    for (; hole != replay_.holes().end() && hole->first < end; ++hole) {
      while (block != replay_.blocks().end() && block->first < hole->first) add_block();
      items.push_back({hole->first, hole->second, nullptr});
    }
    while (block != replay_.blocks().end() && block->first < end) add_block();
    return items;
  }

  void find_merges(OutOfMemory& failure, const PlaceClass& place) {
    for (const auto& [address, segment] : replay_.segments()) {
      if (segment.place != place || segment.size < failure.needed) continue;
      add_cheapest(failure, address, items_of(address, address + segment.size));
    }
    std::stable_sort(failure.merges.begin(), failure.merges.end(),
                     [](const MergeOption& a, const MergeOption& b) {
                       return std::tie(a.live, b.bytes) < std::tie(b.live, a.bytes);
                     });
  }

  /// Two ends that move to the right: each stretch that just suffices is looked at once.
  void add_cheapest(OutOfMemory& failure, std::uint64_t segment, const std::vector<Item>& items) {
    std::optional<std::uint64_t> fewest;
    std::size_t best_first = 0;
    std::size_t best_end = 0;
    std::size_t first = 0;
    std::uint64_t bytes = 0;
    std::uint64_t live = 0;
    const auto live_in = [](const Item& item) { return item.block == nullptr ? 0 : item.size; };
    for (std::size_t end = 0; end < items.size(); ++end) {
      bytes += items[end].size;
      live += live_in(items[end]);
      while (bytes - items[first].size >= failure.needed) {
        bytes -= items[first].size;
        live -= live_in(items[first]);
        ++first;
      }
      if (bytes < failure.needed || (fewest && live >= *fewest)) continue;
      fewest = live;
      best_first = first;
      best_end = end + 1;
    }
    if (!fewest || *fewest == 0 || *fewest >= failure.needed) return;  // nothing gained
    MergeOption option{.segment = segment, .address = items[best_first].address, .live = *fewest};
    PinSums pins(frames_);
    for (std::size_t i = best_first; i < best_end; ++i) {
      option.bytes += items[i].size;
      if (items[i].block == nullptr) continue;
      ++option.blocks;
      pins.add(replay_.row_of(items[i].address, *items[i].block));
    }
    option.pins = pins.pins();
    failure.merges.push_back(std::move(option));
  }

  /// Expandable segments are not returned whole: they are left out.
  void find_releases(OutOfMemory& failure) {
    std::vector<SegmentUse> uses =
        segments_in_use(file_, replay_, frames_, {.own = {}, .matches = {}});
    std::erase_if(uses, [](const SegmentUse& use) { return use.is_expandable; });
    std::stable_sort(uses.begin(), uses.end(), [](const SegmentUse& a, const SegmentUse& b) {
      return std::tie(a.live, b.size) < std::tie(b.live, a.size);
    });
    std::uint64_t free_then = failure.device_free.value_or(0);
    for (SegmentUse& use : uses) {
      if (use.blocks == 0) failure.empty_segments += use.size;
    }
    for (SegmentUse& use : uses) {
      if (free_then >= failure.segment_bytes) break;
      free_then += use.size;
      failure.releases.push_back({.segment = use.address,
                                  .bytes = use.size,
                                  .place = use.place,
                                  .live = use.live,
                                  .blocks = use.blocks,
                                  .device_free_then = free_then,
                                  .pins = std::move(use.pins)});
    }
    failure.release_suffices = free_then >= failure.segment_bytes;
  }

  const SnapshotFile& file_;
  const EventColumns& events_;
  const AnswerOptions& options_;
  UserFrames frames_;
  StateReplay replay_;
  std::uint8_t device_;
};

}  // namespace

std::vector<OutOfMemory> explain_out_of_memory(const SnapshotFile& file,
                                               std::optional<std::uint8_t> device,
                                               const std::optional<SizeQuestion>& question,
                                               const AnswerOptions& options) {
  std::vector<OutOfMemory> failures;
  for (const DeviceAccount& account : make_account(file, device).devices) {
    Explainer explainer(file, account.device, options);
    if (question) {
      failures.push_back(
          explainer.answer(*question, events_before(question->moment, file, account)));
    } else {
      explainer.explain_events(failures);
    }
  }
  return failures;
}

}  // namespace strandline::snapshot
