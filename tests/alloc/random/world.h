// SPDX-License-Identifier: Apache-2.0
// Runs a program on an allocator beside the model: every answer is checked when it comes, and all
// of the state every 64th step and after each fault. The subjects are those of the contract suite.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alloc/contract/contract.h"
#include "alloc/random/audit.h"
#include "alloc/random/limits.h"
#include "alloc/random/misuse.h"
#include "alloc/random/model.h"
#include "alloc/random/operation.h"
#include "alloc/random/report.h"
#include "strandline/alloc/allocator.h"
#include "strandline/core/error.h"
#include "strandline/device/host.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc::random {

class World {
 public:
  explicit World(const Subject& subject) {
    if (subject.machine) {
      machine_ = std::make_unique<sim::Machine>(*subject.machine);
    } else {
      host_ = device::make_host_device();
    }
    for (StreamId& stream : streams_) stream = device().streams().create();
    capacity_ = device().memory().info().free_bytes;
    allocator_ = subject.make(device());
    limits_ = allocator_->limits();
  }

  std::optional<Failure> run(std::span<const Operation> program) {
    std::size_t step = 0;
    try {
      for (; step < program.size(); ++step) perform(program[step]);
      finish();
    } catch (const std::exception& error) {
      leave_quietly();
      return Failure{step, error.what()};
    }
    return std::nullopt;
  }

 private:
  device::Device& device() { return machine_ ? machine_->device() : *host_; }
  Block& slot_of(const Operation& operation) { return model_.slots[operation.slot % kSlots]; }

  void perform(const Operation& operation) {
    dispatch(operation);
    if (!task_violation_.empty()) throw Violation(task_violation_);
    if (fault_struck_) {
      fault_struck_ = false;
      allocator_->validate();
      check_sums();
    }
  }

  void dispatch(const Operation& operation) {
    switch (operation.kind) {
      case Kind::malloc:
        return malloc(operation);
      case Kind::free:
        return free(slot_of(operation));
      case Kind::read:
        return read(slot_of(operation));
      case Kind::fill:
        return fill(operation);
      case Kind::free_later:
        return free_later(operation);
      case Kind::misuse:
        return misuse(operation);
      case Kind::wrap:
        return wrap(operation);
      case Kind::wait:
        return wait(operation);
      case Kind::fault:
        return arm(operation);
      case Kind::check:
        return check_everything();
      default:
        return set_limit(operation);
    }
  }

  // Memory.

  void malloc(const Operation& operation) {
    Block& slot = slot_of(operation);
    if (Model::holds(slot)) return;
    MallocOptions options{.alignment = operation.extra};
    if (machine_ && operation.bytes % 3 == 0) options.stream = streams_[operation.stream];
    const bool is_valid = (operation.extra & (operation.extra - 1)) == 0 &&
                          operation.extra <= device().facts().max_alignment;
    Block block{.requested = operation.bytes};
    try {
      block.buffer = allocator_->malloc(operation.bytes, options);
    } catch (const InvalidArgument&) {
      must(!is_valid, "malloc refused a valid alignment");
      return;
    } catch (const OutOfMemory&) {
      must(may_be_out_of_memory(operation.bytes), "malloc threw OutOfMemory without a reason");
      fault_struck_ = true;
      return;
    } catch (const DeviceError&) {
      must(armed_, "malloc threw DeviceError without a fault");
      fault_struck_ = true;
      return;
    }
    must_equal(static_cast<bool>(block.buffer), operation.bytes > 0, "whether malloc gave memory");
    if (operation.bytes == 0) return;
    must(is_valid, "malloc took an alignment that cannot be");
    block.size = allocator_->size(block.buffer);
    must(block.size >= block.requested, "a block is smaller than requested");
    const std::uint64_t alignment = std::max<std::uint64_t>(operation.extra, 64);
    must_equal(block.buffer.address() % alignment, 0u, "address modulo alignment");
    add(slot, block);
    stamp(slot);
  }

  void add(Block& slot, const Block& block) {
    model_.add(slot, block);
    must(limits_.memory.rule != LimitRule::hard || model_.active <= limits_.memory.bytes,
         "malloc passed a hard limit");
  }

  void stamp(Block& slot) {
    void* memory = wait_and_get(slot);
    if (memory == nullptr || !Model::holds(slot)) return;
    write_stamp(slot, ++stamps_, memory);
    device().memory().note_host_write(allocator_->slice(slot.buffer));
  }

  // Null when a fault struck the work waited for.
  void* wait_and_get(Block& slot) {
    try {
      void* memory = allocator_->raw_ptr(slot.buffer);
      slot.filling.reset();
      return memory;
    } catch (const DeviceError&) {
      must(armed_, "raw_ptr threw DeviceError without a fault");
      settle(true);
      return nullptr;
    }
  }

  void read(Block& slot) {
    if (!Model::holds(slot) || slot.is_leaving) return;
    const void* memory = wait_and_get(slot);
    if (memory != nullptr) check_bytes(slot, memory);
  }

  void free(Block& slot) {
    if (!Model::holds(slot) || slot.is_leaving) return;
    read(slot);
    give_back(slot);
  }

  void give_back(Block& slot) {
    const Buffer buffer = slot.buffer;
    const bool may_be_refused = armed_;
    const device::FreeStatus status =
        slot.is_wrapped ? allocator_->release(buffer) : allocator_->try_free(buffer);
    if (status == device::FreeStatus::refused && may_be_refused) {
      fault_struck_ = true;
      return;
    }
    must(status == device::FreeStatus::freed, "the free of a live block did not end as freed");
    if (!slot.is_wrapped) stale_ = buffer;
    model_.remove(slot);
  }

  void wrap(const Operation& operation) {
    Block& slot = slot_of(operation);
    if (Model::holds(slot) || !device().facts().supports.no_copy_buffers) return;
    std::byte* memory = pages_.get() + (operation.slot % kWrappedSlots) * kPage;
    Block block{.requested = kPage, .size = kPage, .is_wrapped = true};
    try {
      block.buffer = allocator_->make_buffer(memory, kPage);
    } catch (const OutOfMemory&) {
      must(may_be_out_of_memory(0), "make_buffer threw OutOfMemory without a reason");
      fault_struck_ = true;
      return;
    } catch (const DeviceError&) {
      must(armed_, "make_buffer threw DeviceError without a fault");
      fault_struck_ = true;
      return;
    }
    must_equal(block.buffer.address(), reinterpret_cast<device::Address>(memory),
               "wrapped address");
    model_.add(slot, block);
    stamp(slot);
  }

  void misuse(const Operation& operation) {
    const int foreign = 0;
    const WrongFree wrong = wrong_free(operation, model_, stale_, &foreign, allocator_.get());
    const auto status =
        wrong.release ? allocator_->release(wrong.buffer) : allocator_->try_free(wrong.buffer);
    must(status == device::FreeStatus::unknown, "a wrong free was not refused as unknown");
    ++model_.refused;
  }

  // Streams.

  void fill(const Operation& operation) {
    Block& slot = slot_of(operation);
    if (!machine_ || !Model::holds(slot) || slot.is_leaving || slot.size > (1 << 16)) return;
    if (slot.filling) read(slot);  // two writers on two streams would be a race of the program
    const auto value = static_cast<std::uint8_t>(++stamps_);
    try {
      const StreamId stream = streams_[operation.stream];
      device().streams().fill(stream, allocator_->slice(slot.buffer), std::byte{value});
      allocator_->note_write(slot.buffer, stream);
    } catch (const DeviceError&) {
      must(armed_, "fill threw DeviceError without a fault");
      slot.content = Content::unknown;
      return;
    }
    slot.stamp = value;
    slot.content = Content::filled;
    slot.filling = operation.stream;
  }

  void free_later(const Operation& operation) {
    Block& slot = slot_of(operation);
    if (!machine_ || !Model::holds(slot) || slot.is_leaving) return;
    if (slot.filling && *slot.filling != operation.stream) read(slot);
    slot.is_leaving = true;
    device().streams().enqueue_host_task(streams_[operation.stream], "free", [this, &slot] {
      try {
        // A fault may have kept the fill before it from running.
        if (!armed_ || !slot.filling) check_bytes(slot, slot.buffer.ptr());
        slot.is_leaving = false;
        give_back(slot);
      } catch (const std::exception& error) {
        task_violation_ = error.what();
      }
    });
  }

  void wait(const Operation& operation) {
    try {
      device().streams().wait(streams_[operation.stream]);
    } catch (const DeviceError&) {
      must(armed_, "a wait threw DeviceError without a fault");
      settle(true);
    }
  }

  // Runs all queued work. What a fault kept from running is done here, or not known any more.
  void settle(bool failed) {
    for (int tries = 0; tries < 64; ++tries) {
      try {
        device().streams().wait_all();
        break;
      } catch (const DeviceError&) {
        must(armed_, "a wait threw DeviceError without a fault");
        failed = true;
      }
    }
    for (Block& slot : model_.slots) {
      if (failed && slot.filling) slot.content = Content::unknown;
      slot.filling.reset();
      if (!slot.is_leaving) continue;
      must(failed, "a task did not run");
      slot.is_leaving = false;
      give_back(slot);
    }
  }

  // Limits and faults.

  void set_limit(const Operation& operation) {
    if (operation.kind == Kind::wired_limit) {
      set_wired_limit(operation);
    } else {
      random::set_limit(operation, *allocator_, limits_, model_);
    }
    limits_ = allocator_->limits();
    check_sums();
  }

  void set_wired_limit(const Operation& operation) {
    const std::uint64_t bytes = std::min(operation.bytes, device().facts().working_set_bytes);
    try {
      must_equal(allocator_->set_wired_limit(bytes), limits_.wired_bytes, "old wired limit");
    } catch (const Error&) {
      must(armed_, "set_wired_limit threw without a fault");
      fault_struck_ = true;
    }
  }

  void arm(const Operation& operation) {
    if (!machine_) return;
    const auto call = static_cast<device::Call>(operation.extra);
    const bool is_odd = call == device::Call::allocate && operation.slot % 4 == 0;
    machine_->add_fault(
        {.call = call,
         .nth = std::max<std::uint64_t>(operation.bytes, 1),
         .error = is_odd ? sim::FaultError::device_error : sim::FaultError::fitting});
    armed_ = true;
  }

  bool may_be_out_of_memory(std::uint64_t bytes) {
    constexpr std::uint64_t kSlack = 4 << 20;  // pages, and a heap for the smallest
    const Statistics now = allocator_->statistics();
    const auto passes = [&](std::uint64_t limit) {
      return bytes > limit || model_.active + kSlack > limit - bytes;
    };
    return armed_ || passes(capacity_) || now.buffer_count >= limits_.buffers ||
           (limits_.memory.rule == LimitRule::hard && passes(limits_.memory.bytes)) ||
           bytes > device().facts().max_allocation_bytes;
  }

  // The state.

  void check_everything() {
    if (machine_) machine_->clear_faults();
    settle(false);
    if (!task_violation_.empty()) throw Violation(task_violation_);
    armed_ = false;
    allocator_->validate();
    for (Block& slot : model_.slots) read(slot);
    check_sums();
    if (checks_++ % 16 == 0) check_segments(*allocator_, model_);  // as costly as 1,000 steps
    if (!machine_) return;
    const std::vector<sim::Finding> findings = machine_->findings();
    if (!findings.empty()) throw Violation("finding: " + sim::describe(findings.front()));
  }

  void check_sums() {
    const std::uint64_t refusals = device().counts().refused_frees;
    // What the device refused to take stays cached until the next time something leaves.
    const bool may_be_over = refusals != refusals_within_limit_;
    if (random::check_sums(*allocator_, model_, limits_, may_be_over, refusals)) {
      refusals_within_limit_ = refusals;
    }
  }

  // Everything is freed and given back: not a byte may be missing on the device.
  void finish() {
    check_everything();
    for (Block& slot : model_.slots) free(slot);
    must_equal(model_.count(), 0u, "blocks left");
    allocator_->set_wired_limit(0);
    allocator_->empty_cache();
    check_everything();
    must_equal(allocator_->statistics().reserved_bytes, 0u, "reserved bytes at the end");
    allocator_.reset();
    if (machine_) must_equal(device().memory().info().free_bytes, capacity_, "free device memory");
  }

  // After a violation: no further checks, and queued tasks must not reach a world that is gone.
  void leave_quietly() {
    if (machine_) machine_->clear_faults();
    for (Block& slot : model_.slots) slot.content = Content::unknown;
    for (int tries = 0; tries < 64; ++tries) {
      try {
        device().streams().wait_all();
        return;
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the first one counts
      }
    }
  }

  static constexpr std::uint64_t kPage = 4096;
  struct FreeMemory {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, FreeMemory> pages_{
      static_cast<std::byte*>(std::aligned_alloc(kPage, kWrappedSlots* kPage))};
  std::unique_ptr<sim::Machine> machine_;
  std::unique_ptr<device::Device> host_;
  std::array<StreamId, kStreams> streams_;
  std::unique_ptr<Allocator> allocator_;
  Model model_;
  Limits limits_;
  Buffer stale_;
  std::uint64_t capacity_ = 0;
  std::uint64_t stamps_ = 0;
  std::uint64_t checks_ = 0;
  std::uint64_t refusals_within_limit_ = 0;  // of the device, when the cache was last in its limit
  bool armed_ = false;         // faults may strike, or have struck work that nobody waited for yet
  bool fault_struck_ = false;  // in this step
  std::string task_violation_;
};

}  // namespace strandline::alloc::random
