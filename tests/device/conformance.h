// SPDX-License-Identifier: Apache-2.0
// The fixture of the device conformance suite: a backend is a name and a function that makes a
// fresh device. The suite (conformance_*_test.cpp) runs unchanged on every backend of backends.h;
// what a backend's Facts deny is skipped.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/core/error.h"
#include "strandline/device/device.h"

namespace strandline::device {

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Device>()> make;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

class DeviceConformance : public testing::TestWithParam<Backend> {
 protected:
  Device& device() { return *device_; }
  const Facts& facts() { return device_->facts(); }
  Memory& memory() { return device_->memory(); }
  Streams& streams() { return device_->streams(); }
  Capture& capture() { return device_->capture(); }
  AddressSpace& space() { return device_->address_space(); }

  /// What the bytes are after all queued work.
  std::vector<std::uint8_t> read(const Slice& slice) {
    streams().wait_all();
    const Allocation host = memory().allocate(slice.size, {.placement = Placement::host});
    const StreamId stream = streams().create();
    streams().copy(stream, host.slice(), slice);
    streams().wait(stream);
    std::vector<std::uint8_t> bytes(slice.size);
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(host.address), slice.size);
    streams().destroy(stream);
    memory().deallocate(host.address);
    return bytes;
  }

  std::vector<std::uint8_t> repeated(std::uint8_t value, std::size_t count) {
    return std::vector<std::uint8_t>(count, value);
  }

  /// The message of the exception of type E that `call` throws; "" and a failure when it does not.
  template <typename E, typename Call>
  std::string message_of(Call&& call) {
    try {
      call();
    } catch (const E& error) {
      return error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
      return "";
    }
    ADD_FAILURE() << "no exception";
    return "";
  }

 private:
  std::unique_ptr<Device> device_ = GetParam().make();
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

std::vector<Backend> all_backends();

}  // namespace strandline::device
