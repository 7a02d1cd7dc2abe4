// SPDX-License-Identifier: Apache-2.0
// What the rows of segments_defects are made of: a small device, three streams, an allocator; and a
// row, which is a scenario that has to go right, and what makes it go wrong.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "alloc/faults.h"
#include "alloc/program/logged_device.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/error.h"

namespace strandline::alloc::defects {

inline constexpr std::uint64_t kMiB = 1 << 20;

class World {
 public:
  explicit World(Decisions decisions, std::uint64_t capacity = 100 * kMiB,
                 const SegmentSettings& settings = {})
      : device_(capacity, false),
        allocator(device_, {.settings = settings, .decisions = decisions}),
        streams{device_.streams().create(), device_.streams().create(),
                device_.streams().create()} {}
  ~World() {
    if (!any_fault_is_on()) allocator.validate();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Buffer malloc(std::uint64_t bytes, std::size_t stream = 0) {
    return allocator.malloc(bytes, {.stream = streams[stream]});
  }
  bool serves(std::uint64_t bytes, std::size_t stream = 0) {
    try {
      (void)malloc(bytes, stream);
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  }
  /// Work that stays pending until somebody waits.
  void work(std::size_t stream) {
    device_.streams().enqueue(streams[stream],
                              {.name = "work", .accesses = {}, .binds = {}, .body = {}});
  }
  std::uint64_t calls(device::Call call) { return device_.counts().of(call); }
  /// What the device was asked since the last time.
  std::vector<program::Verb> asked() {
    std::vector<program::Verb> verbs;
    for (const program::LoggedCall& call : std::exchange(device_.log.calls, {})) {
      verbs.push_back(call.verb);
    }
    return verbs;
  }
  /// Once, while the device is asked for memory.
  void while_the_device_is_asked(std::function<void()> hook) {
    device_.log.on_allocate = std::move(hook);
  }
  device::Device& device() { return device_; }
  sim::Machine& machine() { return device_.machine(); }
  SegmentStatistics now() { return allocator.segment_statistics(); }
  std::uint64_t reserved() { return static_cast<std::uint64_t>(now().reserved_bytes.all.current); }

 private:
  program::LoggedDevice device_;

 public:
  SegmentAllocator allocator;
  std::array<StreamId, 3> streams;
};

struct Row {
  const char* name;
  /// Decisions::pytorch where PyTorch has the defect; else no decisions do, and a fault is built
  /// in.
  std::variant<Decisions, Fault> brought_about_by;
  std::function<bool(Decisions)> goes_right;

  bool is_pytorchs() const { return std::holds_alternative<Decisions>(brought_about_by); }
  /// An exception that a scenario does not expect is wrong as well.
  bool runs_right(Decisions decisions) const {
    try {
      return goes_right(decisions);
    } catch (const std::exception&) {
      return false;
    }
  }
};

inline void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

}  // namespace strandline::alloc::defects
