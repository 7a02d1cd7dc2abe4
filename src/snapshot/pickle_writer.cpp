// SPDX-License-Identifier: Apache-2.0
// The dictionary around the traces: segments, settings, annotations.
#include "strandline/snapshot/pickle_writer.h"

#include <algorithm>

#include "snapshot/byte_output.h"
#include "snapshot/pickle_events.h"
#include "snapshot/pickle_segments.h"
#include "snapshot/settings_list.h"

namespace strandline::snapshot {
namespace {

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
    PickleSegments(encoder_, parts_, snapshot_, snapshot_.segments, snapshot_.blocks).write();
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
