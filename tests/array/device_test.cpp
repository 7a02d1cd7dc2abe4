// SPDX-License-Identifier: Apache-2.0
// What may be a device of arrays.
#include "strandline/array/device.h"

#include "strandline/alloc/segment_allocator.h"
#include "support.h"

namespace strandline::array {
namespace {

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

}  // namespace
}  // namespace strandline::array
