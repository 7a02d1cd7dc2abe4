// SPDX-License-Identifier: Apache-2.0
// The events once more through the filter that pickles are read with.
#include "snapshot/file_part.h"

#include "snapshot/file_links.h"
#include "snapshot/range_filter.h"
#include "snapshot/rewind.h"

namespace strandline::snapshot {
namespace {

class Part {
 public:
  Part(SnapshotFile file, const ReadRange& range)
      : file_(std::move(file)),
        whole_(std::exchange(file_.snapshot.events, {})),
        extras_(std::exchange(file_.extras, {})),
        range_(range),
        filter_(file_.snapshot.events, range) {}

  SnapshotFile run() {
    for (std::size_t device = 0; device < file_.traces.size(); ++device) keep_trace(device);
    keep_host();
    keep_segments();
    forget_allocs();
    file_.parts.assign(file_.traces.size(), {});
    for (const RangedTrace& trace : filter_.traces()) {
      const auto device = static_cast<std::uint8_t>(trace.place.device);
      file_.parts[device] = trace.part;
      if (trace.has_rest()) rewind_state(file_, device, trace);
    }
    link_blocks(file_);
    return std::move(file_);
  }

 private:
  void keep_trace(std::size_t device) {
    const RowRange trace = std::exchange(file_.traces[device], {});
    if (trace.count == 0) return;
    auto extra = extras_.begin();
    while (extra != extras_.end() && extra->event < trace.first) ++extra;
    for (std::uint64_t i = trace.first; i < trace.end(); ++i) {
      filter_.begin_trace({.list = device + 1, .device = device});
      const EventRow row = whole_.row(static_cast<std::size_t>(i));
      const bool kept = filter_.next(row.time_us);
      for (; extra != extras_.end() && extra->event == i; ++extra) {
        if (kept) {
          file_.extras.push_back({file_.snapshot.events.count(), extra->key, extra->value});
        }
      }
      if (kept) {
        file_.snapshot.events.push_back(row);
      } else {
        filter_.pass_over(row);
      }
    }
    file_.traces[device] = filter_.rows(filter_.trace());
  }

  void keep_host() {
    const EventColumns whole = std::exchange(file_.host_events, {});
    RangeFilter filter(file_.host_events, range_);
    for (std::size_t i = 0; i < whole.count(); ++i) {
      filter.begin_trace({.list = 1, .is_host = true});
      const EventRow row = whole.row(i);
      if (filter.next(row.time_us)) {
        file_.host_events.push_back(row);
      } else {
        filter.pass_over(row);
      }
    }
  }

  void keep_segments() {
    SegmentColumns segments;
    BlockColumns blocks;
    std::vector<std::uint8_t> unaddressed;
    for (std::size_t s = 0; s < file_.snapshot.segments.count(); ++s) {
      if (!filter_.wants_device(file_.snapshot.segments.device[s])) continue;
      copy_segment(file_.snapshot.segments, file_.snapshot.blocks, s, segments, blocks);
      unaddressed.push_back(file_.unaddressed[s]);
    }
    file_.snapshot.segments = std::move(segments);
    file_.snapshot.blocks = std::move(blocks);
    file_.unaddressed = std::move(unaddressed);
  }

  /// Numbers of events are other ones now; what begins in the part is linked anew.
  void forget_allocs() {
    BlockColumns& blocks = file_.snapshot.blocks;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      blocks.alloc_sequence[b] = 0;
      blocks.alloc_time_us[b] = 0;
      blocks.action[b] = record::Action::none;
    }
  }

  SnapshotFile file_;
  const EventColumns whole_;
  const std::vector<EventExtra> extras_;
  const ReadRange& range_;
  RangeFilter filter_;
};

}  // namespace

SnapshotFile part_of(SnapshotFile file, const ReadRange& range) {
  return Part(std::move(file), range).run();
}

}  // namespace strandline::snapshot
