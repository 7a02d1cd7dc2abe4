// SPDX-License-Identifier: Apache-2.0
// A sink receives the record while the program runs, in batches, outside every lock of the
// recorder.
#pragma once

#include <cstdint>
#include <span>

#include "strandline/core/export.h"
#include "strandline/record/event.h"

namespace strandline::record {

class STRANDLINE_API Sink {
 public:
  virtual ~Sink() = default;

  /// Events in order; `first_sequence` is the number of events[0]. Numbers missing between two
  /// calls were overwritten before they could be delivered. An exception removes the sink.
  virtual void write(std::uint64_t first_sequence, std::span<const Event> events) = 0;
};

}  // namespace strandline::record
