// SPDX-License-Identifier: Apache-2.0
// A sink that keeps time and is told of phases: what a file needs that is written while the program
// runs.
#pragma once

#include <span>

#include "strandline/core/export.h"
#include "strandline/record/phases.h"
#include "strandline/record/sink.h"

namespace strandline::record {

class STRANDLINE_API StreamSink : public Sink {
 public:
  /// Phases that began or ended since the call before; those begun before the sink came, once.
  virtual void write_phases(std::span<const Phase> phases) = 0;
  /// Comes after each delivery, at least every 50 ms, also when there was nothing to deliver.
  virtual void tick() = 0;
};

}  // namespace strandline::record
