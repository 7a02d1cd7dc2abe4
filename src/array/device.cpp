// SPDX-License-Identifier: Apache-2.0
// Devices, streams, defaults and scopes.
#include "strandline/array/device.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "array/device_state.h"
#include "strandline/alloc/default_allocator.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

struct Defaults {
  Mutex mutex;
  std::shared_ptr<DeviceState> device STRANDLINE_GUARDED_BY(mutex);
};

// Never destroyed: arrays may outlive static objects.
Defaults& defaults() {
  static Defaults& instance = *new Defaults;
  return instance;
}

// What lives as long as the process needs no owner.
std::shared_ptr<device::Device> unowned(device::Device& device) {
  return {std::shared_ptr<void>(), &device};
}

// Most programs never set one: their operations find the host's stream without a lock.
constinit std::atomic<bool> g_is_default_set{false};

const Stream& host_stream() {
  static const Stream& instance = *new Stream(Device::host().default_stream());
  return instance;
}

thread_local const StreamScope* t_scope = nullptr;

}  // namespace

// -- points on streams ----------------------------------------------------------------------------

Completion::Completion(std::shared_ptr<StreamState> on)
    : stream(std::move(on)), event(stream->port().create_event()) {}

Completion::~Completion() {
  stream->port().destroy_event(event);
}

void Completion::record() {
  stream->port().record(event, stream->id);
  is_recorded_ = true;
}

bool Completion::is_done() const {
  return stream->port().query(event) == device::EventStatus::done;
}

void Completion::wait() {
  ensure_recorded();
  const BlockingScope blocking;
  stream->port().wait(event);
}

// -- states ---------------------------------------------------------------------------------------

struct DeviceLease {
  explicit DeviceLease(std::shared_ptr<DeviceState> device) : state(std::move(device)) {}
  ~DeviceLease() {
    const device::Facts& facts = state->port->facts();
    if (facts.supports.submits_at_once || state->queued_tasks.load() == 0) return;
    const BlockingScope blocking;
    try {
      state->port->streams().wait_all();
    } catch (...) {  // nobody is left to be told
    }
  }
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;

  std::shared_ptr<DeviceState> state;
};

DeviceState::DeviceState(std::shared_ptr<device::Device> port_device,
                         std::shared_ptr<alloc::Allocator> given_allocator)
    : port(std::move(port_device)),
      own_allocator(std::move(given_allocator)),
      name(port->facts().name) {
  keep_graphs_whole_in_forks();
}

alloc::Allocator& DeviceState::allocator() const {
  return own_allocator != nullptr ? *own_allocator : alloc::default_allocator();
}

std::shared_ptr<DeviceState> DeviceState::leased() {
  const LockGuard guard(mutex);
  std::shared_ptr<DeviceLease> owner = lease.lock();
  if (owner == nullptr) {
    owner = std::make_shared<DeviceLease>(shared_from_this());
    lease = owner;
  }
  return {std::move(owner), this};
}

std::shared_ptr<StreamState> DeviceState::default_stream() {
  {
    const LockGuard guard(mutex);
    if (std::shared_ptr<StreamState> stream = made_default.lock()) return stream;
  }
  auto made = std::make_shared<StreamState>(*this, port->streams().default_stream(), true);
  const LockGuard guard(mutex);
  if (std::shared_ptr<StreamState> stream = made_default.lock()) return stream;
  made_default = made;
  return made;
}

DeviceState::~DeviceState() {
  for (const device::DeviceEventId point : points) port->streams().destroy_event(point);
}

// A point behind the work of the stream so far.
void DeviceState::mark(StreamState& stream) {
  device::Streams& streams = port->streams();
  const device::DeviceEventId point = streams.create_event();
  try {
    streams.record(point, stream.id);
  } catch (...) {
    streams.destroy_event(point);
    throw;
  }
  stream.tasks_since_point.store(0, std::memory_order_relaxed);
  const LockGuard guard(mutex);
  points.push_back(point);
}

// False when there is no point to wait for.
bool DeviceState::wait_for_oldest() {
  device::DeviceEventId oldest;
  {
    const LockGuard guard(mutex);
    if (points.empty()) return false;
    oldest = points.front();
    points.pop_front();
  }
  try {
    const BlockingScope blocking;
    port->streams().wait(oldest);
  } catch (...) {
    port->streams().destroy_event(oldest);
    throw;
  }
  port->streams().destroy_event(oldest);
  return true;
}

alloc::Buffer DeviceState::allocate(alloc::Allocator& from, std::uint64_t bytes, StreamId stream) {
  bool is_all_done = false;
  for (;;) {
    is_all_done = is_all_done || queued_tasks.load(std::memory_order_acquire) == 0;
    try {
      return from.malloc(bytes, {.alignment = 0, .stream = stream});
    } catch (const OutOfMemory&) {
      if (is_all_done) throw;
    }
    if (wait_for_oldest()) continue;
    const BlockingScope blocking;
    port->streams().wait_all();
    is_all_done = true;
  }
}

void DeviceState::press_back(StreamState& stream, std::uint32_t max_tasks) {
  constexpr std::uint32_t kTasksPerPoint = 10;
  constexpr std::size_t kPointsKept = 16;
  const auto is_too_much = [&] {
    const std::uint64_t queued = queued_tasks.load(std::memory_order_acquire);
    if (queued == 0 || queued > max_tasks) return queued != 0;
    const alloc::Allocator& from = allocator();
    return from.active_bytes() > from.limits().memory.bytes;
  };
  if (stream.tasks_since_point.load(std::memory_order_relaxed) >= kTasksPerPoint) mark(stream);
  std::size_t kept = 0;
  {
    const LockGuard guard(mutex);
    kept = points.size();
  }
  while (kept-- > kPointsKept) wait_for_oldest();
  bool is_end_marked = false;
  while (is_too_much()) {
    if (wait_for_oldest()) continue;
    // The rest has no point yet. That of other streams is waited for by those who queue there.
    if (is_end_marked) return;
    mark(stream);
    is_end_marked = true;
  }
}

StreamState::~StreamState() {
  if (!is_default && !is_closed.load()) port().destroy(id);
}

void StreamState::check_open(const char* function) const {
  if (!is_closed.load(std::memory_order_acquire)) return;
  throw InvalidArgument(error_message(
      function, "stream", std::to_string(id.value) + " of " + device->name + ", which was closed",
      "an open stream"));
}

// -- Device ---------------------------------------------------------------------------------------

Device Device::host() {
  static const std::shared_ptr<DeviceState>& state = *new std::shared_ptr<DeviceState>(
      std::make_shared<DeviceState>(unowned(alloc::host_device()), nullptr)->leased());
  return Device(state);
}

Device::Device(std::shared_ptr<device::Device> port, std::shared_ptr<alloc::Allocator> allocator) {
  constexpr const char* kFunction = "Device";
  if (port == nullptr || allocator == nullptr) {
    throw InvalidArgument(
        error_message(kFunction, port == nullptr ? "port" : "allocator", "null", "one that lives"));
  }
  if (&allocator->device() != port.get()) {
    throw InvalidArgument(error_message(kFunction, "allocator",
                                        "one over " + allocator->device().facts().name,
                                        "one over the device " + port->facts().name));
  }
  if (!port->facts().supports.work) {
    throw InvalidArgument(error_message(kFunction, "port", port->facts().name,
                                        "a device whose Facts say that it runs work"));
  }
  // Values are written and read by pointer, and the kernels are the host's code.
  if (allocator->hides_memory()) {
    throw InvalidArgument(
        error_message(kFunction, "allocator",
                      fmt::format("{} over memory of {} that the host cannot reach",
                                  allocator->name(), port->facts().name),
                      "one over managed, pinned or host memory, as UnifiedAllocator's is"));
  }
  state_ = std::make_shared<DeviceState>(std::move(port), std::move(allocator))->leased();
}

Device::Device(const std::shared_ptr<alloc::Allocator>& allocator)
    : Device(allocator == nullptr ? nullptr : unowned(allocator->device()), allocator) {}

bool Device::operator==(const Device& other) const noexcept {
  return state_ == other.state_ || (state_->port == other.state_->port &&
                                    state_->own_allocator == other.state_->own_allocator);
}

const std::string& Device::name() const noexcept {
  return state_->name;
}
device::Device& Device::port() const noexcept {
  return *state_->port;
}
alloc::Allocator& Device::allocator() const {
  return state_->allocator();
}
Stream Device::default_stream() const {
  return Stream(state_->default_stream());
}
std::uint64_t Device::queued_tasks() const noexcept {
  return state_->queued_tasks.load(std::memory_order_acquire);
}

// -- Stream ---------------------------------------------------------------------------------------

Device Stream::device() const {
  return Device(state_->leased_device);
}
StreamId Stream::id() const noexcept {
  return state_->id;
}
bool Stream::is_closed() const noexcept {
  return state_->is_closed.load();
}

void Stream::close() {
  if (state_->is_default) {
    throw InvalidArgument(error_message("Stream::close", "stream", "a device's default stream",
                                        "one made by new_stream"));
  }
  if (state_->is_closed.exchange(true)) return;
  std::exception_ptr failure;
  const BlockingScope blocking;
  try {
    state_->port().wait(state_->id);
  } catch (...) {
    failure = std::current_exception();
  }
  if (state_->port().destroy(state_->id) == device::FreeStatus::refused) {
    state_->is_closed.store(false);
    if (failure == nullptr) {
      throw DeviceError(error_message("Stream::close", "stream", "a refusal of the device",
                                      "a stream that it ends"));
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

// -- defaults and scopes --------------------------------------------------------------------------

Device default_device() {
  Defaults& all = defaults();
  {
    const LockGuard guard(all.mutex);
    if (all.device != nullptr) return Device(all.device);
  }
  return Device::host();
}

Device set_default_device(const Device& device) {
  Device before = default_device();
  Defaults& all = defaults();
  const LockGuard guard(all.mutex);
  all.device = device.state();
  g_is_default_set.store(true, std::memory_order_release);
  return before;
}

Stream new_stream(const Device& device) {
  const StreamId id = device.port().streams().create();
  return Stream(std::make_shared<StreamState>(*device.state(), id, false));
}

Stream current_stream() {
  if (t_scope != nullptr) return t_scope->stream_;
  if (!g_is_default_set.load(std::memory_order_acquire)) return host_stream();
  return default_device().default_stream();
}

StreamScope::StreamScope(Stream stream) : stream_(std::move(stream)), previous_(t_scope) {
  t_scope = this;
}

StreamScope::~StreamScope() {
  t_scope = previous_;
}

void synchronize(const Stream& stream) {
  stream.state()->check_open("synchronize");
  const BlockingScope blocking;
  stream.state()->port().wait(stream.id());
}

void synchronize(const Device& device) {
  const BlockingScope blocking;
  device.port().streams().wait_all();
}

}  // namespace strandline::array
