// SPDX-License-Identifier: Apache-2.0
// What may be a device of arrays.
#include "strandline/array/device.h"

#include "strandline/alloc/segment_allocator.h"
#include "strandline/array/transforms.h"
#include "support.h"

namespace strandline::array {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ArrayDevice, IsRefusedWhenTheHostDoesNotReachItsMemory) {
  const auto machine = std::make_shared<sim::Machine>(
      sim::MachineOptions{.host_access = sim::HostAccess::own_memory_only});
  const std::shared_ptr<device::Device> port(machine, &machine->device());
  const auto hidden = std::make_shared<alloc::SegmentAllocator>(*port);
  EXPECT_TRUE(hidden->hides_memory());
  EXPECT_THAT([&] { Device(port, hidden); },
              ThrowsMessage<InvalidArgument>(HasSubstr("SegmentAllocator over memory of sim that "
                                                       "the host cannot reach")));
  const auto managed = std::make_shared<alloc::UnifiedAllocator>(*port);
  EXPECT_FALSE(managed->hides_memory());
  const DeviceScope on(Device(port, managed));
  EXPECT_EQ((ones({2}) + Array(1.0F)).values<float>()[1], 2.0F);
}

TEST(ArrayDevice, IsRefusedWithoutPartsAndWithThoseOfAnother) {
  Simulated one;
  Simulated other;
  EXPECT_THAT([&] { Device(nullptr, one.allocator); },
              ThrowsMessage<InvalidArgument>(HasSubstr("port; got null")));
  EXPECT_THAT([&] { Device(one.port, nullptr); },
              ThrowsMessage<InvalidArgument>(HasSubstr("allocator; got null")));
  EXPECT_THAT([&] { Device(one.port, other.allocator); },
              ThrowsMessage<InvalidArgument>(HasSubstr("one over the device")));
}

// -- lifetime -------------------------------------------------------------------------------------

TEST(ArrayDevice, WorkThatNobodyWaitsForDoesNotKeepTheMachine) {
  for (const bool fails : {false, true}) {
    std::weak_ptr<sim::Machine> machine;
    int deleted = 0;
    {
      Simulated simulated;
      machine = simulated.machine;
      alignas(4096) static float page[1024] = {};
      const DeviceScope on(simulated.device);
      const Array wrapped = Array::wrap(
          page, {1024}, Dtype::float32, [&](void*) { ++deleted; }, simulated.device);
      const Array x = wrapped + (fails ? failing(ones({1024})) : ones({1024}));
      async_eval({x, sum(x), split(x, 2)[1]});
      EXPECT_GT(simulated.device.queued_tasks(), 0U);
    }
    EXPECT_TRUE(machine.expired());
    EXPECT_EQ(deleted, 1);
  }
}

// Its errors are told as long as a handle can ask for them.
TEST(ArrayDevice, WorkOfArraysThatAreGoneStaysQueuedWhileThereIsAHandle) {
  Simulated simulated;
  {
    const DeviceScope on(simulated.device);
    async_eval({failing(ones({4}))});
  }
  EXPECT_GT(simulated.device.queued_tasks(), 0U);
  EXPECT_THAT([&] { synchronize(simulated.device); },
              ThrowsMessage<DeviceError>(HasSubstr("the kernel failed")));
  EXPECT_EQ(simulated.device.queued_tasks(), 0U);
}

// Of which further handles may be made.
TEST(ArrayDevice, LivesAsLongAsAnArrayOfIt) {
  std::weak_ptr<sim::Machine> machine;
  {
    const Array x = [&] {
      Simulated simulated;
      machine = simulated.machine;
      const DeviceScope on(simulated.device);
      Array made = ones({4}) + Array(1.0F);
      eval({made});
      return made;
    }();
    ASSERT_FALSE(machine.expired());
    const DeviceScope on(device_of(x));
    async_eval({x * x});
    EXPECT_EQ((x + x).values<float>()[3], 4.0F);
  }
  EXPECT_TRUE(machine.expired());
}

// -- arrays of several ----------------------------------------------------------------------------

TEST(ArrayDevice, OperationsRefuseInputsOfAnotherWhenTheyAreMade) {
  Simulated simulated;
  const Array here({1.0F, 2.0F});
  const DeviceScope on(simulated.device);
  const Array there({3.0F, 4.0F});
  const auto message = [](const char* input) {
    return ThrowsMessage<InvalidArgument>(
        AllOf(HasSubstr(input), HasSubstr("got an array on host, expected one on sim"),
              HasSubstr("to_device")));
  };
  const auto calls = simulated.port->counts().of(device::Call::enqueue);
  EXPECT_THAT([&] { (void)(here + there); }, message("[Add] input 0"));
  EXPECT_THAT([&] { (void)(there + here); }, message("[Add] input 1"));
  EXPECT_THAT([&] { (void)split(here, 2); }, message("[Split] input 0"));
  EXPECT_THAT([&] { (void)concatenate({there, there, here}); }, message("[Concatenate] input 2"));
  EXPECT_EQ(simulated.port->counts().of(device::Call::enqueue), calls);
  EXPECT_THAT((there + Array(1.0F)).values<float>(), ElementsAre(4, 5));
}

TEST(ArrayDevice, TwoOfOneNameAreToldApart) {
  Simulated one;
  Simulated two;
  const Array x = [&] {
    const DeviceScope on(one.device);
    return ones({2});
  }();
  const DeviceScope on(two.device);
  EXPECT_THAT([&] { (void)exp(x); }, ThrowsMessage<InvalidArgument>(HasSubstr(
                                         "got an array on another device named sim, expected")));
}

// Two allocators over one port: their memory is the same device's.
TEST(ArrayDevice, AllocatorsOfOnePortMayMeet) {
  Simulated simulated;
  const auto second = std::make_shared<alloc::UnifiedAllocator>(*simulated.port);
  const Device other(simulated.port, second);
  const Stream stream = new_stream(other);
  const Array x = [&] {
    const DeviceScope on(simulated.device);
    return full({64}, Array(2.0F)) * Array(3.0F);
  }();
  const StreamScope on(stream);
  const Array y = x + Array(1.0F);
  const Array moved = to_device(x, other);
  EXPECT_EQ(to_device(moved, other).id(), moved.id());
  const std::uint64_t before = second->active_bytes();
  eval({moved});
  EXPECT_GE(second->active_bytes(), before + moved.nbytes());
  EXPECT_EQ(device_of(moved), other);
  EXPECT_EQ(moved.values<float>()[63], 6.0F);
  EXPECT_EQ(y.values<float>()[63], 7.0F);
  for (const sim::Finding& finding : simulated.machine->findings()) {
    ADD_FAILURE() << sim::describe(finding);
  }
}

TEST(ToDevice, BringsValuesWhenTheyAreAskedFor) {
  Simulated simulated;
  const Array x = transpose(reshape(arange(0, 6, 1, Dtype::int32), {2, 3})) * Array(2);
  const Array there = to_device(x, simulated.device);
  EXPECT_EQ(x.status(), Status::unscheduled);
  EXPECT_EQ(simulated.allocator->active_bytes(), 0U);
  {
    const DeviceScope on(simulated.device);
    const Array y = slice(there, {0, 0}, {3, 2}, {2, 1}) + there.shape(0) * Array(1);
    const Array back = to_device(y, Device::host());
    EXPECT_EQ(device_of(back), Device::host());
    EXPECT_THAT(back.values<std::int32_t>(), ElementsAre(3, 9, 7, 13));
  }
  EXPECT_THAT(there.values<std::int32_t>(), ElementsAre(0, 6, 2, 8, 4, 10));
  EXPECT_EQ(to_device(x, Device::host()).id(), x.id());
  EXPECT_TRUE(to_device(zeros({0, 3}), simulated.device).values<float>().empty());
  EXPECT_TRUE(simulated.machine->findings().empty());
}

TEST(ToDevice, GradientsGoBackTheSameWay) {
  Simulated simulated;
  const auto loss = [&](const std::vector<Array>& x) {
    const Array there = to_device(x[0] * Array(3.0F), simulated.device);
    const Array again = to_device(x[0], simulated.device);
    const DeviceScope on(simulated.device);
    return std::vector<Array>{sum(square(there) + again)};
  };
  const auto [values, gradients] = value_and_grad(loss, {Array({1.0F, -2.0F})}, {0});
  EXPECT_EQ(device_of(gradients[0]), Device::host());
  EXPECT_EQ(device_of(values[0]), simulated.device);
  EXPECT_THAT(gradients[0].values<float>(), ElementsAre(19, -35));
  EXPECT_FLOAT_EQ(values[0].item<float>(), 44.0F);
}

TEST(ToDevice, RefusesValuesThatWereNeverMade) {
  Simulated simulated;
  const Array bad = failing(ones({4}));
  const Array there = to_device(bad, simulated.device);
  EXPECT_THAT([&] { eval({there}); }, ThrowsMessage<DeviceError>(HasSubstr("the kernel failed")));
  EXPECT_EQ(there.status(), Status::unscheduled);
  EXPECT_THAT([&] { eval({there}); }, ThrowsMessage<DeviceError>(HasSubstr("whose work failed")));
  EXPECT_EQ(simulated.allocator->active_bytes(), 0U);
}

// The inputs' device is the gradients', whichever is current.
TEST(ArrayDevice, GradientsAreMadeWhereTheFunctionRuns) {
  Simulated simulated;
  const Array x = [&] {
    const DeviceScope on(simulated.device);
    return Array({1.0F, 2.0F});
  }();
  const auto loss = [&](const std::vector<Array>& in) {
    const DeviceScope on(simulated.device);
    return std::vector<Array>{sum(square(in[0]))};
  };
  const auto [values, gradients] = value_and_grad(loss, {x, x}, {0, 1});
  EXPECT_THAT(gradients[0].values<float>(), ElementsAre(2, 4));
  EXPECT_THAT(gradients[1].values<float>(), ElementsAre(0, 0));
  for (const Array& gradient : gradients) EXPECT_EQ(device_of(gradient), simulated.device);
}

}  // namespace
}  // namespace strandline::array
