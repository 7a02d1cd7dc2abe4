// SPDX-License-Identifier: Apache-2.0
// The machine: facts of its devices, and what a test may ask of it.
#include "strandline/device/sim/machine.h"

#include <bit>
#include <utility>

#include "device/checks.h"
#include "device/sim/sim_device.h"

namespace strandline::sim {

namespace {

void check_power(const char* name, std::uint64_t value, std::uint64_t least) {
  if (std::has_single_bit(value) && value >= least) return;
  device::throw_invalid("sim::Machine", name, std::to_string(value),
                        fmt::format("a power of two from {}", least));
}

std::uint64_t or_else(std::uint64_t value, std::uint64_t otherwise) {
  return value == 0 ? otherwise : value;
}

device::Supports supports_of(const MachineOptions& options) {
  device::Supports supports;
  supports.placement = {true, true, true, true};
  supports.host_reads_device = options.host_access == HostAccess::reaches_device;
  supports.no_copy_buffers = true;
  supports.residency = true;
  supports.ordered_allocation = true;
  supports.address_space = true;
  supports.pages_keep_contents = true;
  supports.pages_alias = true;
  supports.work = true;
  supports.capture = true;
  supports.conditional_bodies = true;
  supports.peer_access = options.devices.size() > 1;
  supports.deallocate_waits = options.deallocation == Deallocation::waits_for_device;
  supports.bound_work_keeps_memory = true;
  supports.orders_by_buffer = options.order == StreamOrder::by_buffer;
  return supports;
}

device::Facts facts_of_device(const DeviceOptions& one, std::uint32_t index,
                              const MachineOptions& options) {
  check_power("allocation_granularity", one.allocation_granularity, 1);
  check_power("page_bytes", one.page_bytes, kSystemPage);
  check_power("no_copy_alignment", one.no_copy_alignment, 1);
  const std::uint64_t capacity = one.capacity_bytes;
  return {.name = one.name,
          .index = {index},
          .total_bytes = capacity,
          .max_allocation_bytes = or_else(one.max_allocation_bytes, capacity),
          .allocation_alignment = 256,
          .max_alignment = std::uint64_t{1} << 30,
          .allocation_granularity = one.allocation_granularity,
          .page_bytes = one.page_bytes,
          .address_space_bytes = options.address_space_bytes,
          .no_copy_alignment = one.no_copy_alignment,
          .max_buffers = one.max_buffers,
          .max_pinned_bytes = or_else(one.max_pinned_bytes, capacity),
          .working_set_bytes = or_else(one.working_set_bytes, capacity / 4 * 3),
          .supports = supports_of(options)};
}

}  // namespace

std::vector<device::Facts> facts_of(const MachineOptions& options) {
  if (options.devices.empty()) {
    device::throw_invalid("sim::Machine", "devices", "none", "at least one");
  }
  std::vector<device::Facts> facts;
  for (std::uint32_t i = 0; i < options.devices.size(); ++i) {
    facts.push_back(facts_of_device(options.devices[i], i, options));
  }
  return facts;
}

Machine::Machine(const MachineOptions& options) : core_(std::make_unique<Core>(options)) {
  std::vector<device::Facts> facts = facts_of(options);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].address_space_bytes = core_->space.arena().size();
    core_->devices.push_back(
        std::make_unique<SimDevice>(*core_, std::move(facts[i]), *core_->gates[i]));
  }
}

Machine::~Machine() = default;

std::size_t Machine::device_count() const noexcept {
  return core_->devices.size();
}

device::Device& Machine::device(device::DeviceIndex index) {
  if (index.value >= core_->devices.size()) {
    throw OutOfRange(error_message("Machine::device", "index", std::to_string(index.value),
                                   fmt::format("one below {}", core_->devices.size())));
  }
  return *core_->devices[index.value];
}

bool Machine::run_one(StreamId stream) {
  const LockGuard lock(core_->mutex);
  core_->check_may_wait("Machine::run_one");
  core_->stream_at("Machine::run_one", stream);
  return core_->run_one(stream);
}

void Machine::run_all() {
  const LockGuard lock(core_->mutex);
  core_->check_may_wait("Machine::run_all");
  core_->run_all();
}

std::size_t Machine::pending(StreamId stream) const {
  const LockGuard lock(core_->mutex);
  return core_->stream_at("Machine::pending", stream).pending;
}

void Machine::set_chooser(Chooser chooser) {
  const LockGuard lock(core_->mutex);
  core_->chooser.swap(chooser);
}

void Machine::add_fault(const Fault& fault, device::DeviceIndex index) {
  (void)device(index);
  core_->gates[index.value]->add(fault);
}

void Machine::clear_faults() {
  for (const auto& gate : core_->gates) gate->clear();
}

std::vector<Finding> Machine::findings() const {
  const LockGuard lock(core_->mutex);
  return core_->findings;
}

void Machine::clear_findings() {
  const LockGuard lock(core_->mutex);
  core_->findings.clear();
}

std::uint64_t Machine::now_ns() const {
  return core_->clock.now_ns();
}

std::uint64_t Machine::event_ns(device::DeviceEventId event) const {
  const LockGuard lock(core_->mutex);
  const TaskPtr task = core_->event_at("Machine::event_ns", event).task;
  return task == nullptr || !task->done ? 0 : task->end_ns;
}

device::Address Machine::base() const noexcept {
  return core_->space.arena().base();
}

std::uint64_t Machine::poisoned_bytes() const {
  return core_->space.poisoned_bytes();
}

namespace {

class LoneDevice final : public device::Device {
 public:
  explicit LoneDevice(const MachineOptions& options) : machine_(options) {}

  const device::Facts& facts() const noexcept override { return only_.facts(); }
  device::Memory& memory() noexcept override { return only_.memory(); }
  device::AddressSpace& address_space() noexcept override { return only_.address_space(); }
  device::Streams& streams() noexcept override { return only_.streams(); }
  device::Capture& capture() noexcept override { return only_.capture(); }
  device::Peers& peers() noexcept override { return only_.peers(); }
  device::CallCounts counts() const noexcept override { return only_.counts(); }

 private:
  Machine machine_;
  device::Device& only_ = machine_.device();
};

}  // namespace

std::unique_ptr<device::Device> make_device(const MachineOptions& options) {
  return std::make_unique<LoneDevice>(options);
}

}  // namespace strandline::sim
