// SPDX-License-Identifier: Apache-2.0
// What the tests of arrays share: devices to run them on, and the order in which a simulated one
// has run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/unified_allocator.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/eval.h"
#include "strandline/array/operations.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::array {

/// A simulated machine with an allocator over it, as a device of arrays.
struct Simulated {
  explicit Simulated(const sim::MachineOptions& options = {})
      : machine(std::make_shared<sim::Machine>(options)),
        port(machine, &machine->device()),
        allocator(std::make_shared<alloc::HostAllocator>(
            *port, alloc::HostAllocatorOptions{.placement = device::Placement::managed})),
        device(port, allocator) {}

  std::shared_ptr<sim::Machine> machine;
  std::shared_ptr<device::Device> port;
  std::shared_ptr<alloc::HostAllocator> allocator;
  Device device;
};

/// Notes the names of work in the order in which a machine runs it, oldest first.
inline std::shared_ptr<std::vector<std::string>> note_order(sim::Machine& machine) {
  auto names = std::make_shared<std::vector<std::string>>();
  machine.set_chooser([names](std::span<const sim::Candidate> candidates) {
    names->push_back(candidates[0].operation);
    return std::size_t{0};
  });
  return names;
}

/// A primitive of one input that does what a test says.
class Scripted : public Primitive {
 public:
  using Body = std::function<void(const std::vector<Array>&, std::vector<Array>&, Encoder&)>;
  Scripted(Stream stream, Body body) : Primitive(std::move(stream)), body_(std::move(body)) {}
  std::string_view name() const noexcept override { return "Scripted"; }
  void eval(const std::vector<Array>& inputs, std::vector<Array>& outputs,
            Encoder& encoder) override {
    body_(inputs, outputs, encoder);
  }

 private:
  Body body_;
};

inline Array scripted(const Array& input, Scripted::Body body) {
  return Array(input.shape(), input.dtype(),
               std::make_shared<Scripted>(current_stream(), std::move(body)), {input});
}

/// Its op throws when it is evaluated.
inline Array throwing(const Array& input) {
  return scripted(input, [](const auto&, auto&, Encoder&) { throw InvalidArgument("no such op"); });
}

/// Its work throws when it runs.
inline Array failing(const Array& input) {
  return scripted(input, [](const auto& inputs, auto& outputs, Encoder& encoder) {
    encoder.allocate(outputs[0]);
    encoder.read(inputs[0]);
    encoder.write(outputs[0]);
    encoder.run([] { throw DeviceError("the kernel failed"); });
  });
}

}  // namespace strandline::array
