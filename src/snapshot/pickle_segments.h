// SPDX-License-Identifier: Apache-2.0
// Lists of segments with their blocks in the pickle.
#pragma once

#include "snapshot/pickle_parts.h"

namespace strandline::snapshot {

class PickleSegments {
 public:
  PickleSegments(PickleEncoder& encoder, PickleParts& parts, const Snapshot& tables,
                 const SegmentColumns& segments, const BlockColumns& blocks)
      : encoder_(encoder), parts_(parts), tables_(tables), segments_(segments), blocks_(blocks) {}

  void write();

 private:
  void write_segment(const SegmentRow& segment);
  void write_block(std::size_t b);
  void field(Word key, std::uint64_t value);

  PickleEncoder& encoder_;
  PickleParts& parts_;
  const Snapshot& tables_;
  const SegmentColumns& segments_;
  const BlockColumns& blocks_;
};

}  // namespace strandline::snapshot
