// SPDX-License-Identifier: Apache-2.0
// The dictionary around the traces: segments, settings, annotations.
#include "strandline/snapshot/pickle_writer.h"

#include <algorithm>

#include "snapshot/byte_output.h"
#include "snapshot/pickle_events.h"
#include "snapshot/settings_list.h"

namespace strandline::snapshot {
namespace {

using record::BlockUse;

struct SegmentSums {
  std::uint64_t allocated = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
};

class Writer {
 public:
  Writer(const Snapshot& snapshot, ByteOutput& output)
      : snapshot_(snapshot), encoder_(output), parts_(encoder_, snapshot) {}

  void write() {
    encoder_.empty_dict();
    encoder_.mark();
    parts_.word(Word::device_traces);
    PickleEvents(encoder_, parts_, snapshot_).write();
    parts_.word(Word::segments);
    write_segments();
    parts_.word(Word::allocator_settings);
    write_settings();
    parts_.word(Word::external_annotations);
    write_annotations();
    for (const Word word : {Word::host_segments, Word::host_traces}) {
      parts_.word(word);
      encoder_.empty_list();
    }
    encoder_.set_items();
    encoder_.stop();
  }

 private:
  void field(Word key, std::uint64_t value) {
    parts_.word(key);
    encoder_.integer(value);
  }

  void write_segments() {
    PickleList list(encoder_);
    for (std::size_t s = 0; s < snapshot_.segments.count(); ++s) {
      list.next();
      write_segment(snapshot_.segments.row(s));
    }
    list.end();
  }

  SegmentSums sums_of(const SegmentRow& segment) const {
    SegmentSums sums;
    for (std::size_t i = 0; i < segment.block_count; ++i) {
      const std::size_t b = segment.first_block + i;
      const BlockUse use = snapshot_.blocks.use[b];
      if (use == BlockUse::inactive) continue;
      sums.active += snapshot_.blocks.size[b];
      sums.requested += snapshot_.blocks.requested[b];
      if (use == BlockUse::allocated) sums.allocated += snapshot_.blocks.size[b];
    }
    return sums;
  }

  void write_segment(const SegmentRow& segment) {
    const SegmentSums sums = sums_of(segment);
    encoder_.empty_dict();
    encoder_.mark();
    field(Word::device, segment.device);
    field(Word::address, segment.address);
    field(Word::total_size, segment.size);
    field(Word::allocated_size, sums.allocated);
    field(Word::active_size, sums.active);
    field(Word::requested_size, sums.requested);
    field(Word::stream, snapshot_.stream(segment.stream).first);
    parts_.word(Word::segment_type);
    parts_.word(segment.is_small ? Word::small : Word::large);
    parts_.word(Word::segment_pool_id);
    parts_.pool(segment.pool);
    parts_.word(Word::is_expandable);
    encoder_.boolean(segment.is_expandable);
    parts_.word(Word::frames);
    parts_.stack(segment.stack);
    parts_.word(Word::blocks);
    PickleList list(encoder_);
    for (std::size_t i = 0; i < segment.block_count; ++i) {
      list.next();
      write_block(segment.first_block + i);
    }
    list.end();
    encoder_.set_items();
  }

  void write_block(std::size_t b) {
    const BlockColumns& blocks = snapshot_.blocks;
    encoder_.empty_dict();
    encoder_.mark();
    field(Word::address, blocks.address[b]);
    field(Word::size, blocks.size[b]);
    field(Word::requested_size, blocks.requested[b]);
    parts_.word(Word::state);
    switch (blocks.use[b]) {
      case BlockUse::allocated:
        parts_.word(Word::active_allocated);
        break;
      case BlockUse::pending_free:
        parts_.word(Word::active_pending_free);
        break;
      case BlockUse::inactive:
        parts_.word(Word::inactive);
        break;
    }
    parts_.word(Word::frames);
    parts_.stack(blocks.stack[b]);
    encoder_.set_items();
  }

  void write_settings() {
    encoder_.empty_dict();
    encoder_.mark();
    each_setting(snapshot_, [&](const std::string& key, std::uint64_t value) {
      parts_.text(key);
      encoder_.integer(value);
    });
    parts_.text("strandline_fault");
    parts_.text(snapshot_.fault);
    encoder_.set_items();
  }

  struct Mark {
    std::int64_t time_us;
    Word stage;
    StringId name;
  };

  /// Starts and ends by time; an open phase has no end.
  std::vector<Mark> marks() const {
    std::vector<Mark> marks;
    for (const PhaseRow& phase : snapshot_.phases) {
      marks.push_back({phase.start_us, Word::start, phase.name});
      if (!phase.open) marks.push_back({phase.end_us, Word::end, phase.name});
    }
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Mark& a, const Mark& b) { return a.time_us < b.time_us; });
    return marks;
  }

  void write_annotations() {
    PickleList list(encoder_);
    for (const Mark& mark : marks()) {
      list.next();
      encoder_.empty_dict();
      encoder_.mark();
      parts_.word(Word::name);
      parts_.text(mark.name);
      parts_.word(Word::stage);
      parts_.word(mark.stage);
      field(Word::device, 0);
      parts_.word(Word::time_us);
      encoder_.integer(mark.time_us);
      encoder_.set_items();
    }
    list.end();
  }

  const Snapshot& snapshot_;
  PickleEncoder encoder_;
  PickleParts parts_;
};

}  // namespace

void write_pickle(const Snapshot& snapshot, const std::string& path) {
  FileOutput output(path);
  Writer(snapshot, output).write();
  output.commit();
}

std::string pickle_bytes(const Snapshot& snapshot) {
  std::string bytes;
  StringOutput output(bytes);
  Writer(snapshot, output).write();
  return bytes;
}

}  // namespace strandline::snapshot
