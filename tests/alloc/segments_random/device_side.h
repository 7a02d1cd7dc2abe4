// SPDX-License-Identifier: Apache-2.0
// The program's own work on the simulated device, and the order that it makes: uses of blocks,
// events, waits. The device may refuse when a fault is armed; then the program waits for what it
// could not order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "alloc/segments_random/order.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc::segments_random {

class DeviceSide {
 public:
  explicit DeviceSide(const sim::MachineOptions& options) : machine_(options) {
    device::Streams& on = device().streams();
    streams_.push_back(on.default_stream());
    while (streams_.size() < kStreams) streams_.push_back(on.create());
    for (device::DeviceEventId& event : events_) event = on.create_event();
    crossing_ = on.create_event();
    capacity_ = device().memory().info().free_bytes;
  }

  device::Device& device() { return machine_.device(); }
  sim::Machine& machine() { return machine_; }
  [[nodiscard]] const std::vector<StreamId>& streams() const { return streams_; }
  [[nodiscard]] const Order& order() const { return order_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

  void arm(const Operation& operation) {
    const auto call = static_cast<device::Call>(operation.extra);
    const bool is_odd = call == device::Call::allocate && operation.slot % 4 == 0;
    machine_.add_fault(
        {.call = call,
         .nth = operation.bytes,
         .error = is_odd ? sim::FaultError::device_error : sim::FaultError::fitting});
    is_armed_ = true;
  }
  void disarm() {
    machine_.clear_faults();
    is_armed_ = false;
  }
  /// Faults may strike. Every DeviceError needs it.
  [[nodiscard]] bool is_armed() const { return is_armed_; }

  /// Queues work that writes the bytes; its position.
  std::uint64_t use(std::size_t stream, const device::Slice& slice) {
    const std::uint64_t position = order_.queue(stream);
    device::Work work{.name = "use",
                      .accesses = {{slice, device::AccessMode::write}},
                      .binds = {},
                      .body = [this, stream, position] { finish(stream, position); }};
    device().streams().enqueue(streams_[stream], std::move(work));
    return position;
  }

  /// Later work of `stream` is behind all that `other` has.
  void order(std::size_t stream, std::size_t other) {
    if (stream == other) return;
    try {
      device().streams().record(crossing_, streams_[other]);
      device().streams().wait_event(streams_[stream], crossing_);
      order_.wait_for(stream, other);
    } catch (const DeviceError&) {
      random::must(is_armed_, "the device refused an event without a fault");
      wait(other);
    }
  }

  void record(std::size_t stream, std::size_t event) {
    try {
      device().streams().record(events_[event], streams_[stream]);
      order_.record(event, stream);
    } catch (const DeviceError&) {
      random::must(is_armed_, "the device refused an event without a fault");
    }
  }
  void wait_event(std::size_t stream, std::size_t event) {
    device().streams().wait_event(streams_[stream], events_[event]);
    order_.wait(stream, event);
  }

  void progress(std::size_t stream, std::uint64_t pieces) {
    device().streams().submit(streams_[stream]);
    while (pieces-- > 0 && machine_.run_one(streams_[stream])) continue;
    settled();
  }
  /// Until it is done, whatever strikes.
  void wait(std::size_t stream) {
    keep_trying([&] { device().streams().wait(streams_[stream]); });
  }
  void wait_all() {
    keep_trying([&] { device().streams().wait_all(); });
    for (std::size_t i = 0; i < kStreams; ++i) {
      random::must_equal(order_.done(i), order_.queued(i), "work that was done");
    }
  }

 private:
  void finish(std::size_t stream, std::uint64_t position) {
    try {
      order_.finish(stream, position);
    } catch (const std::exception& error) {
      wrong_ = error.what();
    }
  }
  void settled() const {
    if (!wrong_.empty()) throw random::Violation(wrong_);
  }
  template <typename Wait>
  void keep_trying(Wait&& wait) {
    constexpr int kTries = 64;
    for (int tries = 0; tries < kTries; ++tries) {
      try {
        wait();
        return settled();
      } catch (const DeviceError&) {
        random::must(is_armed_, "a wait threw DeviceError without a fault");
      }
    }
    throw random::Violation("the device never came to rest");
  }

  std::vector<StreamId> streams_;
  std::array<device::DeviceEventId, kEvents> events_;
  device::DeviceEventId crossing_;
  Order order_;
  std::uint64_t capacity_ = 0;
  bool is_armed_ = false;
  std::string wrong_;
  sim::Machine machine_;  // last: what is queued runs when it ends
};

}  // namespace strandline::alloc::segments_random
