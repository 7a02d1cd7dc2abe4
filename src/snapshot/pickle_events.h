// SPDX-License-Identifier: Apache-2.0
// The traces of a snapshot in the pickle: one list of event dictionaries a device.
#pragma once

#include "snapshot/action_expansion.h"
#include "snapshot/pickle_parts.h"

namespace strandline::snapshot {

class PickleEvents {
 public:
  PickleEvents(PickleEncoder& encoder, PickleParts& parts, const Snapshot& snapshot);

  void write();

 private:
  void write_trace(std::uint8_t device);
  void write_event(PickleList& list, std::size_t i);
  void write_one(PickleList& list, std::size_t i, Word action, std::uint64_t size, About about);
  bool write_known(std::size_t i, Word action, std::uint64_t size, About about);
  void write_place(std::size_t i, Word action, std::uint64_t size);
  void write_category(std::size_t i, About about);

  PickleEncoder& encoder_;
  PickleParts& parts_;
  const Snapshot& snapshot_;
  const EventColumns& events_;
  std::vector<std::uint64_t> holder_sizes_;  // of the events' blocks, where there are holders
  bool categories_ = false;
};

}  // namespace strandline::snapshot
