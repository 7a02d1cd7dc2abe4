// SPDX-License-Identifier: Apache-2.0
// The keys in their order, and what both kinds of source have alike.
#include "snapshot/pickle_document.h"

#include "snapshot/pickle_segments.h"

namespace strandline::snapshot {
namespace {

Word stage_word(Stage stage) {
  switch (stage) {
    case Stage::start:
      return Word::start;
    case Stage::end:
      return Word::end;
    case Stage::other:
      break;
  }
  return Word::unknown;
}

}  // namespace

void PickleDocument::write() {
  encoder_.empty_dict();
  encoder_.mark();
  parts_.word(Word::device_traces);
  write_traces();
  parts_.word(Word::segments);
  PickleSegments(encoder_, parts_, snapshot_, snapshot_.segments, snapshot_.blocks).write();
  parts_.word(Word::allocator_settings);
  write_settings();
  parts_.word(Word::external_annotations);
  write_annotations();
  parts_.word(Word::host_segments);
  write_host_segments();
  parts_.word(Word::host_traces);
  write_host_traces();
  encoder_.set_items();
  encoder_.stop();
}

void PickleDocument::write_annotations() {
  PickleList list(encoder_);
  for (const Annotation& annotation : annotations_) {
    list.next();
    encoder_.empty_dict();
    encoder_.mark();
    parts_.word(Word::name);
    parts_.text(annotation.name);
    parts_.word(Word::stage);
    parts_.word(stage_word(annotation.stage));
    parts_.word(Word::device);
    encoder_.integer(std::int64_t{annotation.device});
    parts_.word(Word::time_us);
    encoder_.integer(annotation.time_us);
    encoder_.set_items();
  }
  list.end();
}

}  // namespace strandline::snapshot
