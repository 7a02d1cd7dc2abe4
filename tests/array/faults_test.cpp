// SPDX-License-Identifier: Apache-2.0
// A training step under seeded interleavings, and with a fault at each of its calls to the device:
// the documented exception, no value that was never made, memory back at its level, and the next
// step right.
#include "strandline/array/transforms.h"
#include "support.h"

namespace strandline::array {
namespace {

// Two layers, on two streams, one step of gradient descent.
struct Model {
  Array w1 = reshape(arange(0, 12, 1, Dtype::float32) * Array(0.1F), {3, 4});
  Array w2 = reshape(arange(0, 8, 1, Dtype::float32) * Array(-0.1F), {4, 2});
  Array x = reshape(arange(0, 6, 1, Dtype::float32) * Array(0.5F), {2, 3});
  Stream second;

  explicit Model(const Device& device) : second(new_stream(device)) { eval({w1, w2, x}); }

  // New weights and the loss; the weights of before stay as they are.
  std::vector<Array> step() const {
    const auto loss = [&](const std::vector<Array>& w) {
      const Array hidden = tanh(matmul(x, w[0]));
      const StreamScope on(second);
      return std::vector<Array>{sum(square(matmul(hidden, w[1]) - Array(1.0F)))};
    };
    const auto [value, gradients] = value_and_grad(loss, {w1, w2}, {0, 1});
    std::vector<Array> results = {value[0], w1 - Array(0.1F) * gradients[0],
                                  w2 - Array(0.1F) * gradients[1]};
    eval(results);
    return results;
  }
};

std::vector<std::vector<float>> values_of(const std::vector<Array>& arrays) {
  std::vector<std::vector<float>> values;
  for (const Array& array : arrays) values.push_back(array.values<float>());
  return values;
}

std::vector<std::vector<float>> expected_values() {
  const DeviceScope on(Device::host());
  return values_of(Model(Device::host()).step());
}

TEST(TrainingStep, IsTheSameUnderEverySeedOfTheSimulation) {
  const auto expected = expected_values();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const auto order : {sim::StreamOrder::by_stream, sim::StreamOrder::by_buffer}) {
      Simulated simulated(
          {.order = order, .interleaving = sim::Interleaving::seeded, .seed = seed});
      const DeviceScope on(simulated.device);
      {
        const Model model(simulated.device);
        ASSERT_EQ(values_of(model.step()), expected) << "seed " << seed;
        ASSERT_EQ(values_of(model.step()), expected) << "seed " << seed;
      }
      for (const sim::Finding& finding : simulated.machine->findings()) {
        ADD_FAILURE() << "seed " << seed << ": " << sim::describe(finding);
      }
      EXPECT_EQ(simulated.allocator->statistics().allocated_count, 0U);
      EXPECT_EQ(simulated.device.queued_tasks(), 0U);
    }
  }
}

class StepWithFault : public testing::TestWithParam<device::Call> {};

TEST_P(StepWithFault, ThrowsLeaksNothingAndTheNextStepIsRight) {
  const device::Call call = GetParam();
  const auto expected = expected_values();
  Simulated simulated({.interleaving = sim::Interleaving::seeded, .seed = 11});
  const DeviceScope on(simulated.device);
  const Model model(simulated.device);
  const auto count = [&] { return simulated.port->counts().of(call); };
  const auto level = [&] { return simulated.allocator->statistics().allocated_bytes; };
  const std::uint64_t at_rest = level();
  simulated.allocator->empty_cache();
  const auto made_before = count();
  ASSERT_EQ(values_of(model.step()), expected);
  const auto calls = count() - made_before;
  std::uint64_t thrown = 0;
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE(std::string(device::call_name(call)) + " " + std::to_string(nth));
    simulated.allocator->empty_cache();
    simulated.machine->add_fault({.call = call, .nth = nth});
    try {
      // A fault may hit a call that can do without; then the step is right.
      EXPECT_EQ(values_of(model.step()), expected);
    } catch (const DeviceError&) {
      ++thrown;
    } catch (const OutOfMemory&) {
      ++thrown;
    }
    simulated.machine->clear_faults();
    try {
      synchronize(simulated.device);
    } catch (const DeviceError&) {  // of work that nobody had waited for
    }
    EXPECT_EQ(level(), at_rest);
    EXPECT_EQ(simulated.device.queued_tasks(), 0U);
    ASSERT_EQ(values_of(model.step()), expected);
  }
  if (!device::is_free_path(call) && calls > 0) {
    EXPECT_GT(thrown, 0U);
  }
  for (const sim::Finding& finding : simulated.machine->findings()) {
    ADD_FAILURE() << sim::describe(finding);
  }
}

INSTANTIATE_TEST_SUITE_P(EachCall, StepWithFault,
                         testing::Values(device::Call::allocate, device::Call::deallocate,
                                         device::Call::create_event, device::Call::destroy_event,
                                         device::Call::record_event, device::Call::query_event,
                                         device::Call::wait_event, device::Call::stream_wait_event,
                                         device::Call::submit, device::Call::enqueue,
                                         device::Call::run),
                         [](const auto& instance) {
                           return std::string(device::call_name(instance.param));
                         });

}  // namespace
}  // namespace strandline::array
