// SPDX-License-Identifier: Apache-2.0
// A record of ours: actions expanded to those of the format, counters as settings, phases as
// annotations.
#include "strandline/snapshot/pickle_writer.h"

#include "snapshot/phase_marks.h"
#include "snapshot/pickle_document.h"
#include "snapshot/pickle_events.h"
#include "snapshot/settings_list.h"

namespace strandline::snapshot {
namespace {

class RecordDocument final : public PickleDocument {
 public:
  RecordDocument(const Snapshot& snapshot, ByteOutput& output)
      : PickleDocument(snapshot, output), marks_(phase_marks(snapshot.phases)) {
    annotations_ = marks_;
  }

 private:
  void write_traces() override { PickleEvents(encoder_, parts_, snapshot_).write(); }

  void write_settings() override {
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

  std::vector<Annotation> marks_;
};

}  // namespace

void write_pickle(const Snapshot& snapshot, const std::string& path) {
  write_document<RecordDocument>(snapshot, path);
}

std::string pickle_bytes(const Snapshot& snapshot) {
  return document_bytes<RecordDocument>(snapshot);
}

}  // namespace strandline::snapshot
