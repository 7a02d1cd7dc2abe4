// SPDX-License-Identifier: Apache-2.0
// A graph of three operations, built, shown, run and differentiated:
//   graph [sim]
// On the simulated accelerator nothing runs before somebody waits; the values are the same.
#include "strandline/array/graph.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <string_view>

#include "strandline/alloc/host_allocator.h"
#include "strandline/array/eval.h"
#include "strandline/array/operations.h"
#include "strandline/array/transforms.h"
#include "strandline/device/sim/machine.h"

namespace alloc = strandline::alloc;
namespace array = strandline::array;
namespace device = strandline::device;

static array::Device simulated() {
  std::shared_ptr<device::Device> port = strandline::sim::make_device();
  const alloc::HostAllocatorOptions options{.placement = device::Placement::managed};
  return {port, std::make_shared<alloc::HostAllocator>(*port, options)};
}

static array::Array loss_of(const array::Array& x, const array::Array& w) {
  return array::sum(array::square(array::matmul(x, w)));  // three operations
}

int main(int argc, char** argv) {
  const bool on_sim = argc > 1 && std::string_view(argv[1]) == "sim";
  const array::DeviceScope scope(on_sim ? simulated() : array::Device::host());

  const array::Array x({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2});
  const array::Array w({0.5F, -0.5F}, {2, 1});
  const array::Array loss = loss_of(x, w);
  array::NodeNamer names;
  names.set_name(x, "x");
  names.set_name(w, "w");
  names.set_name(loss, "loss");
  array::print_graph(std::cout, names, {loss});
  for (const auto& step : array::plan_evaluation({loss}).steps) {
    std::printf("to run: %s\n", array::shape_text(step.array.shape()).c_str());
  }

  const auto [values, gradients] = array::value_and_grad(
      [&](const std::vector<array::Array>& in) {
        return std::vector<array::Array>{loss_of(x, in[0])};
      },
      {w}, {0});
  array::eval({loss, values[0], gradients[0]});
  const std::vector<float> slope = gradients[0].values<float>();
  std::printf("loss %.2f, gradient %.2f %.2f\n", static_cast<double>(loss.item<float>()),
              static_cast<double>(slope[0]), static_cast<double>(slope[1]));
  return 0;
}
