// SPDX-License-Identifier: Apache-2.0
// A simulated machine as Python holds it. Buffers and allocators over it share it, without
// referring to Python's object: an allocator may outlive the interpreter.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "strandline/device/sim/machine.h"

namespace strandline::python {

struct SimMachine {
  std::shared_ptr<sim::Machine> machine;

  sim::Machine* operator->() const noexcept { return machine.get(); }
};

/// Adds the methods of streams and events, in init_sim_streams.cpp.
void def_sim_streams(nanobind::class_<SimMachine>& machine);

}  // namespace strandline::python
