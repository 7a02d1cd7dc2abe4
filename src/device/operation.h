// SPDX-License-Identifier: Apache-2.0
// What backends queue: a copy, a fill, work or a host task, all brought into the form of `Work`.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "strandline/device/calls.h"
#include "strandline/device/streams.h"

namespace strandline::device {

struct Operation {
  Call kind = Call::enqueue;  ///< copy, fill, enqueue, enqueue_host_task, or a marker's own
  Work work;
  std::vector<std::shared_ptr<void>> keeps;  ///< alive as long as the operation
  DeviceIndex device = {};                   ///< whose stream it was put on

  /// Something that a caller queued to be done; the rest are points and the backend's own doings.
  [[nodiscard]] bool is_work() const { return !is_barrier() || kind == Call::enqueue_host_task; }
  /// A copy moves bytes between devices also where neither reaches the other's memory.
  [[nodiscard]] bool copies_between_devices() const { return kind == Call::copy; }
  /// Host tasks and markers come after all earlier work of their stream, and before all later.
  [[nodiscard]] bool is_barrier() const {
    return kind != Call::copy && kind != Call::fill && kind != Call::enqueue;
  }
};

inline void* to_pointer(Address address) {
  return reinterpret_cast<void*>(address);
}
inline Address to_address(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

inline Operation copy_operation(const Slice& to, const Slice& from) {
  Operation operation{.kind = Call::copy, .work = {}, .keeps = {}, .device = {}};
  operation.work.name = "copy";
  operation.work.accesses = {{from, AccessMode::read}, {to, AccessMode::write}};
  operation.work.body = [to, from] {
    if (to.size > 0) std::memmove(to_pointer(to.address), to_pointer(from.address), to.size);
  };
  return operation;
}

inline Operation fill_operation(const Slice& to, std::byte value) {
  Operation operation{.kind = Call::fill, .work = {}, .keeps = {}, .device = {}};
  operation.work.name = "fill";
  operation.work.accesses = {{to, AccessMode::write}};
  operation.work.body = [to, value] {
    if (to.size > 0) std::memset(to_pointer(to.address), static_cast<int>(value), to.size);
  };
  return operation;
}

inline Operation host_task_operation(std::string name, std::function<void()> task) {
  Operation operation{.kind = Call::enqueue_host_task, .work = {}, .keeps = {}, .device = {}};
  operation.work.name = std::move(name);
  operation.work.body = std::move(task);
  return operation;
}

inline Operation marker_operation(Call kind) {
  Operation operation{.kind = kind, .work = {}, .keeps = {}, .device = {}};
  operation.work.name = call_name(kind);
  return operation;
}

}  // namespace strandline::device
