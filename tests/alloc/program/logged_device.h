// SPDX-License-Identifier: Apache-2.0
// A simulated device that writes down the calls an allocator makes, can let the n-th allocation
// fail, and completes queued work when it is told to: what the fake CUDA device of the allocator
// programs does, on top of sim.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "strandline/core/error.h"
#include "strandline/device/device.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc::program {

enum class Verb : std::uint8_t {
  malloc,
  malloc_failed,
  free,
  record,
  query,
  wait_event,
  wait_stream,
  wait_device,
};

struct LoggedCall {
  Verb verb = Verb::malloc;
  device::Address address = 0;
  std::uint64_t size = 0;
  StreamId stream;
  bool is_done = false;
};

/// What both parts below write to.
struct CallLog {
  std::vector<LoggedCall> calls;
  std::vector<std::uint64_t> fails_in;  ///< allocations until one fails, 1: the next
  std::function<void()> on_allocate;    ///< called once, inside the next allocation

  bool fails_now() {
    for (std::uint64_t& left : fails_in) --left;
    return std::erase(fails_in, 0u) > 0;
  }
};

class LoggedMemory final : public device::Memory {
 public:
  LoggedMemory(const device::Facts& facts, device::CallGate& gate, device::Memory& inner,
               CallLog& log)
      : Memory(facts, gate), inner_(inner), log_(log) {}

 private:
  device::Allocation do_allocate(std::uint64_t bytes, device::Placement placement,
                                 std::uint64_t alignment) override {
    if (const auto hook = std::exchange(log_.on_allocate, {})) hook();
    try {
      if (log_.fails_now()) throw OutOfMemory("[LoggedMemory] told to fail", bytes, 0, 0);
      const device::Allocation made =
          inner_.allocate(bytes, {.placement = placement, .alignment = alignment});
      log_.calls.push_back({Verb::malloc, made.address, bytes, {}, true});
      return made;
    } catch (const OutOfMemory&) {
      log_.calls.push_back({Verb::malloc_failed, 0, bytes, {}, false});
      throw;
    }
  }
  device::FreeStatus do_deallocate(device::Address address) noexcept override {
    log_.calls.push_back({Verb::free, address, 0, {}, true});
    return inner_.deallocate(address);
  }
  device::Allocation do_allocate_ordered(std::uint64_t bytes, StreamId stream) override {
    return inner_.allocate_ordered(bytes, stream);
  }
  device::FreeStatus do_deallocate_ordered(device::Address address,
                                           StreamId stream) noexcept override {
    return inner_.deallocate_ordered(address, stream);
  }
  device::BufferId do_wrap(device::Address address, std::uint64_t bytes) override {
    return inner_.wrap(address, bytes);
  }
  device::FreeStatus do_release_buffer(device::BufferId buffer) noexcept override {
    return inner_.release_buffer(buffer);
  }
  void do_make_resident(device::Address address) override { inner_.make_resident(address); }
  device::FreeStatus do_end_residency(device::Address address) noexcept override {
    return inner_.end_residency(address);
  }
  device::MemoryInfo do_info() const override { return inner_.info(); }

  device::Memory& inner_;
  CallLog& log_;
};

class LoggedStreams final : public device::Streams {
 public:
  LoggedStreams(const device::Facts& facts, device::CallGate& gate, device::Streams& inner,
                CallLog& log, bool completes_at_once)
      : Streams(facts, gate), inner_(inner), log_(log), completes_at_once_(completes_at_once) {}

  /// The oldest `count` points recorded on the stream and not reached are reached.
  void complete_points(StreamId stream, std::uint64_t count) {
    std::deque<Point>& points = points_[stream];
    const auto drop_reached = [&] {
      while (!points.empty() && is_reached(points.front())) points.pop_front();
    };
    for (drop_reached(); count > 0 && !points.empty(); --count) {
      inner_.wait(points.front().event);
      drop_reached();
    }
  }

 private:
  struct Point {
    device::DeviceEventId event;
    std::uint64_t record = 0;  ///< which record of the event
  };

  // An event is recorded again when its last point was reached.
  bool is_reached(const Point& point) const {
    return latest_.at(point.event).record != point.record ||
           inner_.query(point.event) == device::EventStatus::done;
  }

  StreamId do_default_stream() const noexcept override { return inner_.default_stream(); }
  StreamId do_create(const device::StreamOptions& options) override {
    return inner_.create(options);
  }
  device::FreeStatus do_destroy(StreamId stream) noexcept override {
    return inner_.destroy(stream);
  }
  void* do_native(StreamId stream) const override { return inner_.native(stream); }
  device::DeviceEventId do_create_event() override { return inner_.create_event(); }
  device::FreeStatus do_destroy_event(device::DeviceEventId event) noexcept override {
    return inner_.destroy_event(event);
  }
  void do_record(device::DeviceEventId event, StreamId stream) override {
    inner_.record(event, stream);
    latest_[event] = {stream, ++records_};
    points_[stream].push_back({event, records_});
    log_.calls.push_back({Verb::record, 0, 0, stream, true});
    if (completes_at_once_) inner_.wait(stream);
  }
  device::EventStatus do_query_event(device::DeviceEventId event) const override {
    const device::EventStatus status = inner_.query(event);
    log_.calls.push_back(
        {Verb::query, 0, 0, latest_.at(event).stream, status == device::EventStatus::done});
    return status;
  }
  void do_stream_wait_event(StreamId stream, device::DeviceEventId event) override {
    inner_.wait_event(stream, event);
  }
  void do_wait_event(device::DeviceEventId event) override {
    inner_.wait(event);
    log_.calls.push_back({Verb::wait_event, 0, 0, latest_.at(event).stream, true});
  }
  void do_submit(StreamId stream) override { inner_.submit(stream); }
  void do_wait_stream(StreamId stream) override {
    inner_.wait(stream);
    log_.calls.push_back({Verb::wait_stream, 0, 0, stream, true});
  }
  void do_wait_all() override {
    inner_.wait_all();
    log_.calls.push_back({Verb::wait_device, 0, 0, {}, true});
  }
  device::EventStatus do_query_stream(StreamId stream) const override {
    return inner_.query(stream);
  }
  void do_copy(StreamId stream, const device::Slice& to, const device::Slice& from) override {
    inner_.copy(stream, to, from);
  }
  void do_fill(StreamId stream, const device::Slice& to, std::byte value) override {
    inner_.fill(stream, to, value);
  }
  void do_enqueue(StreamId stream, device::Work work) override {
    inner_.enqueue(stream, std::move(work));
    if (completes_at_once_) inner_.wait(stream);
  }
  void do_enqueue_host_task(StreamId stream, std::string name,
                            std::function<void()> task) override {
    inner_.enqueue_host_task(stream, std::move(name), std::move(task));
  }

  device::Streams& inner_;
  CallLog& log_;
  const bool completes_at_once_;
  struct Latest {
    StreamId stream;
    std::uint64_t record = 0;
  };

  std::map<StreamId, std::deque<Point>> points_;
  std::map<device::DeviceEventId, Latest> latest_;
  std::uint64_t records_ = 0;
};

class LoggedDevice final : public device::Device {
 public:
  LoggedDevice(std::uint64_t capacity_bytes, bool completes_at_once)
      : machine_(options(capacity_bytes)),
        facts_(facts_of(machine_.device())),
        memory_(facts_, gate_, machine_.device().memory(), log),
        streams_(facts_, gate_, machine_.device().streams(), log, completes_at_once) {}

  const device::Facts& facts() const noexcept override { return facts_; }
  device::Memory& memory() noexcept override { return memory_; }
  device::AddressSpace& address_space() noexcept override {
    return machine_.device().address_space();
  }
  LoggedStreams& streams() noexcept override { return streams_; }
  device::Capture& capture() noexcept override { return machine_.device().capture(); }
  device::Peers& peers() noexcept override { return machine_.device().peers(); }
  device::CallCounts counts() const noexcept override { return gate_.counts(); }

  /// Without writing it down.
  device::Streams& quiet_streams() { return machine_.device().streams(); }
  sim::Machine& machine() { return machine_; }

  CallLog log;

 private:
  static sim::MachineOptions options(std::uint64_t capacity_bytes) {
    sim::DeviceOptions device;
    device.capacity_bytes = capacity_bytes;
    device.allocation_granularity = 2 << 20;
    sim::MachineOptions machine;
    machine.devices = {device};
    machine.reuse = sim::AddressReuse::never;
    return machine;
  }
  // Whatever is asked for reaches the device, which then has no memory for it.
  static device::Facts facts_of(device::Device& device) {
    device::Facts facts = device.facts();
    facts.max_allocation_bytes = UINT64_MAX;
    return facts;
  }

  sim::Machine machine_;
  device::Facts facts_;
  device::CallGate gate_;
  LoggedMemory memory_;
  LoggedStreams streams_;
};

}  // namespace strandline::alloc::program
