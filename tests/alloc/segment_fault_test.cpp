// SPDX-License-Identifier: Apache-2.0
// SegmentAllocator when the device fails: with each call of a program over streams, uses, pools and
// a full device failing in turn, once or from then on, the documented exceptions come, the books
// stay right, nothing is lost, and the same program then succeeds.
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc {
namespace {

using device::Call;
using sim::FaultRepeat;

constexpr std::uint64_t kMiB = 1 << 20;

/// A device that is nearly full at the end of the program, whose fields hold what it holds.
class Program {
 public:
  explicit Program(Decisions decisions)
      : allocator_(machine_.device(), {.decisions = decisions}),
        a_(machine_.device().streams().create()),
        b_(machine_.device().streams().create()),
        pool_(allocator_.create_pool()) {}

  void run() {
    for (const std::uint64_t bytes :
         std::initializer_list<std::uint64_t>{512, 5000, 3 * kMiB, 12 * kMiB})
      take(bytes, a_);
    take(5000, b_);
    work(b_);
    for (Buffer& buffer : held_) allocator_.record_stream(buffer, b_);
    work(a_);
    allocator_.record_stream(held_.back(), a_);
    for (std::size_t i = 0; i < held_.size(); i += 2) give(i);
    take(3 * kMiB, a_);
    {
      allocator_.begin_pool(pool_);
      in_scope_ = true;
      take(5 * kMiB, a_);
      give(held_.size() - 1);
      leave_scope();
    }
    take(60 * kMiB, a_);
    work(b_);
    allocator_.record_stream(held_.back(), b_);
    give(held_.size() - 1);
    take(70 * kMiB, b_);  // has to wait for the use of the 60, or release around it
    (void)allocator_.empty_cache();
    take(kMiB, a_);
    clean();
  }

  void clean() {
    if (in_scope_) leave_scope();
    for (std::size_t i = 0; i < held_.size(); ++i) give(i);
    held_.clear();
    machine_.device().streams().wait_all();
    (void)allocator_.poll();
    (void)allocator_.empty_cache();
  }

  sim::Machine& machine() { return machine_; }
  SegmentAllocator& allocator() { return allocator_; }

 private:
  static sim::MachineOptions options() {
    sim::DeviceOptions device;
    device.capacity_bytes = 130 * kMiB;
    sim::MachineOptions machine;
    machine.devices = {device};
    return machine;
  }
  void take(std::uint64_t bytes, StreamId stream) {
    held_.push_back(allocator_.malloc(bytes, {.stream = stream}));
  }
  void give(std::size_t i) {
    allocator_.free(held_[i]);
    held_[i] = {};
  }
  void work(StreamId stream) {
    machine_.device().streams().enqueue(stream,
                                        {.name = "work", .accesses = {}, .binds = {}, .body = {}});
  }
  void leave_scope() {
    allocator_.end_pool(pool_);
    in_scope_ = false;
  }

  sim::Machine machine_{options()};
  SegmentAllocator allocator_;
  StreamId a_;
  StreamId b_;
  PoolId pool_;
  bool in_scope_ = false;
  std::vector<Buffer> held_;
};

enum class Outcome : std::uint8_t { success, out_of_memory, device_error };

std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  constexpr std::array<const char*, 3> kNames = {"success", "out of memory", "device error"};
  return out << kNames[static_cast<std::size_t>(outcome)];
}

Outcome outcome_of(Program& program) {
  try {
    program.run();
  } catch (const OutOfMemory&) {
    return Outcome::out_of_memory;
  } catch (const DeviceError&) {
    return Outcome::device_error;
  }
  return Outcome::success;
}

/// Frees never throw; memory that cannot be had once may be had without the cache; what the device
/// does not take back is missing when it is full; events are the device's to refuse, and PyTorch's
/// way records them at free, where a refusal is made up for later.
std::vector<Outcome> documented(Call call, Decisions decisions) {
  switch (call) {
    case Call::allocate:
    case Call::deallocate:
      return {Outcome::success, Outcome::out_of_memory};
    case Call::memory_info:
    case Call::destroy_event:
    case Call::submit:
      return {Outcome::success};
    case Call::create_event:
    case Call::record_event:
      if (decisions == Decisions::pytorch) return {Outcome::success};
      return {Outcome::device_error};
    case Call::query_event:
    case Call::wait_event:
      return {Outcome::success, Outcome::device_error};
    default:
      return {Outcome::success, Outcome::device_error};
  }
}

class SegmentFaults : public testing::TestWithParam<Decisions> {};
INSTANTIATE_TEST_SUITE_P(Both, SegmentFaults, testing::Values(Decisions::ours, Decisions::pytorch),
                         [](const auto& row) {
                           return row.param == Decisions::ours ? "ours" : "pytorch";
                         });

TEST_P(SegmentFaults, at_every_call_end_as_documented_and_lose_nothing) {
  std::array<std::uint64_t, device::kCallCount> made = {};
  {
    Program program(GetParam());
    ASSERT_EQ(outcome_of(program), Outcome::success);
    made = program.machine().device().counts().made;
  }
  EXPECT_GT(made[static_cast<std::size_t>(Call::allocate)], 5u);
  EXPECT_GT(made[static_cast<std::size_t>(Call::deallocate)], 4u);
  EXPECT_GT(made[static_cast<std::size_t>(Call::record_event)], 4u);
  EXPECT_GT(made[static_cast<std::size_t>(Call::wait_event)], 0u);
  for (const FaultRepeat repeat : {FaultRepeat::once, FaultRepeat::from_then_on}) {
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Call call = static_cast<Call>(i);
      // The program's own calls, not the allocator's.
      if (call == Call::enqueue || call == Call::run || call == Call::create_stream) continue;
      for (std::uint64_t nth = 1; nth <= made[i]; ++nth) {
        SCOPED_TRACE(testing::Message() << device::call_name(call) << " " << nth
                                        << (repeat == FaultRepeat::once ? "" : " and on"));
        Program program(GetParam());
        const std::uint64_t free_bytes = program.machine().device().memory().info().free_bytes;
        program.machine().add_fault({.call = call, .nth = nth, .repeat = repeat});
        EXPECT_THAT(documented(call, GetParam()), testing::Contains(outcome_of(program)));
        program.allocator().validate();
        program.machine().clear_faults();
        program.clean();
        program.allocator().validate();
        EXPECT_EQ(program.allocator().statistics().active_bytes, 0u);
        EXPECT_EQ(outcome_of(program), Outcome::success);
        EXPECT_EQ(program.machine().device().memory().info().free_bytes,
                  free_bytes - program.allocator().statistics().reserved_bytes);
        program.allocator().validate();
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace strandline::alloc
