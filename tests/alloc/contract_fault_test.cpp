// SPDX-License-Identifier: Apache-2.0
// The contract under faults: with each call of the device that a mixed program makes failing in
// turn, once or from then on, the documented exceptions come, the books stay right, nothing is
// lost, and the same program then succeeds.
#include <array>

#include "alloc/contract/contract.h"

namespace strandline::alloc {
namespace {

using device::Call;
using device::FreeStatus;
using sim::FaultRepeat;

std::vector<Subject> simulated_subjects() {
  std::vector<Subject> subjects;
  for (const Subject& subject : all_subjects()) {
    if (subject.machine) subjects.push_back(subject);
  }
  return subjects;
}

class AllocatorFaults : public testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Contract, AllocatorFaults, testing::ValuesIn(simulated_subjects()),
                         subject_name);

/// A program that makes an allocator call every way into the device. What it holds is in its
/// fields, so that it can be given back wherever a fault stopped it.
class Workload {
 public:
  explicit Workload(Bench& bench) : bench_(bench) {}

  void run() {
    Allocator& allocator = bench_.allocator();
    device::Streams& streams = bench_.device().streams();
    const device::Facts& facts = bench_.device().facts();
    allocator.set_wired_limit(std::min<std::uint64_t>(4 << 20, facts.working_set_bytes));
    for (const std::uint64_t bytes :
         std::initializer_list<std::uint64_t>{4, 300, 5000, 100'000, 3 << 20}) {
      held_.push_back(allocator.malloc(bytes));
    }
    held_.push_back(allocator.malloc(5000, {.alignment = 1 << 16}));
    held_.push_back(allocator.malloc(6000, {.stream = streams.default_stream()}));
    const std::uint64_t size = allocator.size(held_.back());
    ASSERT_GE(size, 6000u);
    (void)held_.back().raw_ptr();
    wrapped_ = allocator.make_buffer(foreign_.data() + offset(), 8192);
    for (std::size_t i = 0; i < held_.size(); i += 2) {
      allocator.free(held_[i]);
      held_[i] = {};
    }
    allocator.set_wired_limit(0);
    allocator.set_cache_limit(200'000);
    held_.push_back(allocator.malloc(90'000));
    allocator.set_cache_limit(1 << 20);
    (void)allocator.empty_cache();
    held_.push_back(allocator.malloc(1));
    clean();
  }

  void clean() {
    for (const Buffer buffer : held_) bench_.allocator().free(buffer);
    held_.clear();
    // A refused release leaves the buffer with its owner, who may try again.
    for (int i = 0; i < 2 && wrapped_; ++i) {
      if (bench_.allocator().release(wrapped_) == FreeStatus::freed) wrapped_ = {};
    }
  }

 private:
  std::size_t offset() const {
    return (65536 - reinterpret_cast<std::uintptr_t>(foreign_.data()) % 65536) % 65536;
  }

  Bench& bench_;
  std::vector<std::byte> foreign_ = std::vector<std::byte>(65536 + 8192);
  std::vector<Buffer> held_;
  Buffer wrapped_;
};

enum class Outcome : std::uint8_t { success, out_of_memory, device_error };

std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  constexpr std::array<const char*, 3> kNames = {"success", "out of memory", "device error"};
  return out << kNames[static_cast<std::size_t>(outcome)];
}

Outcome outcome_of(Workload& workload) {
  try {
    workload.run();
  } catch (const OutOfMemory&) {
    return Outcome::out_of_memory;
  } catch (const DeviceError&) {
    return Outcome::device_error;
  }
  return Outcome::success;
}

/// Frees never throw, what the device does not wire waits, memory that cannot be had once is had
/// without the cache.
std::vector<Outcome> documented(Call call, FaultRepeat repeat) {
  switch (call) {
    case Call::allocate:
      if (repeat == FaultRepeat::once) return {Outcome::success};
      return {Outcome::out_of_memory};
    case Call::wrap:
      return {Outcome::out_of_memory};
    case Call::make_resident:
    case Call::end_residency:
    case Call::deallocate:
    case Call::release_buffer:
    case Call::memory_info:
      return {Outcome::success};
    default:
      return {Outcome::device_error};
  }
}

std::array<std::uint64_t, device::kCallCount> calls_made(const Subject& subject) {
  Bench bench(subject);
  const device::CallCounts before = bench.device().counts();
  Workload workload(bench);
  EXPECT_EQ(outcome_of(workload), Outcome::success);
  std::array<std::uint64_t, device::kCallCount> made = {};
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = bench.device().counts().made[i] - before.made[i];
  }
  return made;
}

TEST_P(AllocatorFaults, at_every_call_end_as_documented_and_lose_nothing) {
  reset_recorder();
  const std::array<std::uint64_t, device::kCallCount> made = calls_made(GetParam());
  const std::uint64_t least = GetParam().grain == Grain::buffers ? 4 : 3;
  EXPECT_GE(made[static_cast<std::size_t>(Call::allocate)], least);
  EXPECT_GE(made[static_cast<std::size_t>(Call::deallocate)], least);
  for (const FaultRepeat repeat : {FaultRepeat::once, FaultRepeat::from_then_on}) {
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Call call = static_cast<Call>(i);
      for (std::uint64_t nth = 1; nth <= made[i]; ++nth) {
        SCOPED_TRACE(testing::Message() << device::call_name(call) << " " << nth
                                        << (repeat == FaultRepeat::once ? "" : " and on"));
        Bench bench(GetParam());
        const std::uint64_t free_bytes = bench.device().memory().info().free_bytes;
        bench.machine()->add_fault({.call = call, .nth = nth, .repeat = repeat});
        Workload workload(bench);
        EXPECT_THAT(documented(call, repeat), testing::Contains(outcome_of(workload)));
        bench.allocator().validate();
        bench.machine()->clear_faults();
        workload.clean();
        bench.allocator().validate();
        EXPECT_EQ(bench.allocator().statistics().active_bytes, 0u);
        Workload again(bench);
        EXPECT_EQ(outcome_of(again), Outcome::success);
        bench.allocator().set_wired_limit(0);
        (void)bench.allocator().empty_cache();
        EXPECT_EQ(bench.allocator().statistics().reserved_bytes, 0u);
        EXPECT_EQ(bench.device().memory().info().free_bytes, free_bytes);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(AllocatorFaults, a_failed_allocation_frees_the_cache_and_tries_again) {
  if (GetParam().grain == Grain::segments) GTEST_SKIP() << "segment_limits_test.cpp";
  Bench bench(GetParam());
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(bench.allocator().malloc(1 << 20));
  for (const Buffer buffer : buffers) bench.allocator().free(buffer);
  EXPECT_EQ(bench.allocator().statistics().cached_count, 4u);
  bench.machine()->add_fault({.call = Call::allocate});
  const Buffer saved = bench.allocator().malloc(8 << 20);
  EXPECT_TRUE(saved);
  EXPECT_EQ(bench.allocator().statistics().cached_count, 0u);
  bench.machine()->add_fault({.call = Call::allocate, .repeat = FaultRepeat::from_then_on});
  try {
    (void)bench.allocator().malloc(1 << 20);
    ADD_FAILURE() << "no exception";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.requested, 1u << 20);
    EXPECT_THAT(error.what(), testing::HasSubstr("8388608 active"));
    EXPECT_THAT(error.what(), testing::HasSubstr("0 cached"));
    EXPECT_THAT(error.what(), testing::HasSubstr("largest holders: 8388608 bytes in 1 block"));
  }
  bench.machine()->clear_faults();
  bench.allocator().free(saved);
}

TEST_P(AllocatorFaults, memory_that_the_device_refuses_to_take_back_is_kept_and_used_again) {
  Bench bench(GetParam());
  bench.allocator().set_cache_limit(0);
  const Buffer buffer = bench.allocator().malloc(5000);
  bench.machine()->add_fault({.call = Call::deallocate});
  EXPECT_EQ(bench.allocator().try_free(buffer), FreeStatus::freed);
  EXPECT_EQ(bench.allocator().statistics().refused_frees, 1u);
  EXPECT_EQ(bench.allocator().statistics().active_bytes, 0u);
  EXPECT_EQ(bench.allocator().statistics().cached_count, 1u);
  bench.allocator().validate();
  const Buffer again = bench.allocator().malloc(5000);
  EXPECT_EQ(again.ptr(), buffer.ptr());
  bench.allocator().free(again);
  EXPECT_EQ(bench.allocator().statistics().reserved_bytes, 0u);
}

}  // namespace
}  // namespace strandline::alloc
