// SPDX-License-Identifier: Apache-2.0
// Where arrays live and where their operations run. A device here is a device of the port together
// with the allocator its arrays come from; a stream is one of its streams. Both are handles: copies
// name the same thing, which lives as long as an array, an operation or a handle of it.
//
//   auto machine = std::make_shared<sim::Machine>();
//   std::shared_ptr<device::Device> port(machine, &machine->device());
//   array::Device sim(port, std::make_shared<alloc::HostAllocator>(*port, options));
//   array::DeviceScope on(sim);              // of this thread, until the end of the scope
//   array::Array x = array::ones({2, 2});
//
// Threads: any. Streams are not bound to the thread that made them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "strandline/alloc/allocator.h"
#include "strandline/core/export.h"
#include "strandline/device/device.h"

namespace strandline::array {

class Stream;
struct DeviceState;
struct StreamState;

class STRANDLINE_API Device {
 public:
  /// The process's host device with its default allocator, whichever that is at the time.
  static Device host();
  /// InvalidArgument for null, for an allocator of another device or over memory that the host does
  /// not reach, and for a device without work (Facts::supports.work).
  Device(std::shared_ptr<device::Device> port, std::shared_ptr<alloc::Allocator> allocator);
  /// The same over a device that outlives every array: the host, with another allocator.
  explicit Device(const std::shared_ptr<alloc::Allocator>& allocator);

  const std::string& name() const noexcept;  ///< of its Facts
  device::Device& port() const noexcept;
  alloc::Allocator& allocator() const;
  Stream default_stream() const;
  /// Work that was queued and has not run.
  std::uint64_t queued_tasks() const noexcept;

  /// Of one device and allocator.
  bool operator==(const Device& other) const noexcept;

  explicit Device(std::shared_ptr<DeviceState> state) noexcept : state_(std::move(state)) {}
  const std::shared_ptr<DeviceState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<DeviceState> state_;
};

class STRANDLINE_API Stream {
 public:
  Device device() const;
  StreamId id() const noexcept;
  /// Waits for its work and ends it; operations not yet evaluated on it cannot be any more
  /// (InvalidArgument). Refused with InvalidArgument for a default stream.
  void close();
  bool is_closed() const noexcept;

  bool operator==(const Stream&) const = default;

  explicit Stream(std::shared_ptr<StreamState> state) noexcept : state_(std::move(state)) {}
  const std::shared_ptr<StreamState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<StreamState> state_;
};

/// The process's default device: the host until another is set.
STRANDLINE_API Device default_device();
/// Returns the one before.
STRANDLINE_API Device set_default_device(const Device& device);
/// OutOfMemory and DeviceError as the device has them.
STRANDLINE_API Stream new_stream(const Device& device = default_device());
/// Where this thread's operations go: its innermost scope's stream, else the default device's.
STRANDLINE_API Stream current_stream();

/// This thread's operations go to `stream` for the lifetime of the guard; scopes nest.
class STRANDLINE_API StreamScope {
 public:
  explicit StreamScope(Stream stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream stream_;
  const StreamScope* previous_;
  friend Stream current_stream();
};

/// The same with a device's default stream.
class DeviceScope {
 public:
  explicit DeviceScope(const Device& device) : scope_(device.default_stream()) {}

 private:
  StreamScope scope_;
};

/// Waits for all work of the stream; DeviceError when some of it failed, once.
STRANDLINE_API void synchronize(const Stream& stream);
/// The same for every stream of the device.
STRANDLINE_API void synchronize(const Device& device = default_device());

}  // namespace strandline::array
