// SPDX-License-Identifier: Apache-2.0
// The public defects of PyTorch's allocator (spec segment-allocator, D- and R-rows), one scenario
// each. Decisions::pytorch is the switch that turns a defect on: a scenario has to go right with
// ours and wrong with PyTorch's, so that none can pass without showing anything. Rows that no
// decisions may have (memory handed out twice, an address inside a segment freed) go right with
// both. Rows that are not here, and why, stand in docs/segment-allocator.md.
#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/alloc/segment_allocator.h"
#include "strandline/core/error.h"
#include "strandline/device/sim/machine.h"

namespace strandline::alloc {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// A small device, streams, an allocator.
class World {
 public:
  explicit World(Decisions decisions, std::uint64_t capacity = 100 * kMiB,
                 const SegmentSettings& settings = {})
      : machine_(options(capacity)),
        allocator(machine_.device(), {.settings = settings, .decisions = decisions}),
        streams{machine_.device().streams().create(), machine_.device().streams().create(),
                machine_.device().streams().create()} {}
  ~World() { allocator.validate(); }
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
    device().streams().enqueue(streams[stream],
                               {.name = "work", .accesses = {}, .binds = {}, .body = {}});
  }
  std::uint64_t calls(device::Call call) { return device().counts().of(call); }
  device::Device& device() { return machine_.device(); }
  sim::Machine& machine() { return machine_; }
  SegmentStatistics now() { return allocator.segment_statistics(); }

 private:
  static sim::MachineOptions options(std::uint64_t capacity) {
    sim::DeviceOptions device;
    device.capacity_bytes = capacity;
    device.allocation_granularity = 2 * kMiB;
    sim::MachineOptions machine;
    machine.devices = {device};
    return machine;
  }

  sim::Machine machine_;

 public:
  SegmentAllocator allocator;
  std::array<StreamId, 3> streams;
};

/// Whether all went right.
using Scenario = std::function<bool(Decisions)>;
enum class There : std::uint8_t { has_it, refuses_it };

struct Defect {
  const char* name;
  There pytorch;
  Scenario goes_right;
};

void PrintTo(const Defect& defect, std::ostream* out) {
  *out << defect.name;
}

const std::vector<Defect> kDefects = {
    {"D01_oom_retries_after_sync", There::has_it,
     [](Decisions decisions) {
       World w(decisions, 20 * kMiB);
       std::vector<Buffer> held;
       for (int i = 0; i < 4; ++i) held.push_back(w.malloc(5 * kMiB));
       w.work(1);
       w.allocator.record_stream(held[1], w.streams[1]);
       w.allocator.free(held[1]);
       return w.serves(5 * kMiB) && w.now().segment.all.current == 1;
     }},
    {"D12_garbage_is_collected_without_a_limit", There::has_it,
     [](Decisions decisions) {
       SegmentSettings settings;
       settings.garbage_collection_threshold = 0.3;
       World w(decisions, 100 * kMiB, settings);
       w.allocator.free(w.malloc(40 * kMiB));
       (void)w.malloc(44 * kMiB);
       return w.now().num_device_free == 1;
     }},
    {"D13_waits_for_no_more_than_it_needs", There::has_it,
     [](Decisions decisions) {
       World w(decisions, 40 * kMiB);
       const std::array<Buffer, 2> held = {w.malloc(20 * kMiB), w.malloc(20 * kMiB)};
       for (const std::size_t i : {0u, 1u}) {
         w.work(i + 1);
         w.allocator.record_stream(held[i], w.streams[i + 1]);
         w.allocator.free(held[i]);
       }
       return w.serves(20 * kMiB) && w.machine().pending(w.streams[2]) > 0;
     }},
    {"D14_one_division_is_the_next_power_of_two", There::has_it,
     [](Decisions decisions) {
       SegmentSettings settings;
       settings.roundup_power2_divisions.fill(1);
       World w(decisions, 4096 * kMiB, settings);
       return w.allocator.size(w.malloc(514 * kMiB)) == 1024 * kMiB;
     }},
    {"D16_absurd_sizes_are_out_of_memory_at_every_entry", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions);
       for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - 511, std::uint64_t{1} << 63,
                                         (std::uint64_t{1} << 63) + 1, std::uint64_t{1} << 60}) {
         if (w.serves(bytes)) return false;
       }
       return w.now().allocation.all.current == 0;
     }},
    {"D17_oversize_counts_survive_a_changed_limit", There::has_it,
     [](Decisions decisions) {
       SegmentSettings settings;
       settings.max_split_bytes = 32 * kMiB;
       World w(decisions, 200 * kMiB, settings);
       const Buffer buffer = w.malloc(40 * kMiB);
       settings.max_split_bytes = 64 * kMiB;
       w.allocator.set_settings(settings);
       w.allocator.free(buffer);
       (void)w.allocator.empty_cache();
       return w.now().oversize_allocations.current == 0 && w.now().oversize_segments.current == 0;
     }},
    {"D17_bad_settings_change_nothing", There::has_it,
     [](Decisions decisions) {
       World w(decisions);
       SegmentSettings settings;
       settings.large_segment_bytes = 40 * kMiB;  // and max_non_split_rounding below it
       try {
         w.allocator.set_settings(settings);
       } catch (const InvalidArgument&) {
       }
       return w.allocator.settings() == SegmentSettings{};
     }},
    {"D20_the_error_says_what_is_the_case_when_information_fails", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions, 20 * kMiB);
       const Buffer held = w.malloc(15 * kMiB);
       w.machine().add_fault(
           {.call = device::Call::memory_info, .repeat = sim::FaultRepeat::from_then_on});
       try {
         (void)w.malloc(30 * kMiB);
         return false;
       } catch (const OutOfMemory& error) {
         const std::string text = error.what();
         w.machine().clear_faults();
         return text.find("expandable") == std::string::npos && error.requested == 30 * kMiB &&
                held;
       }
     }},
    {"D21_a_pools_own_idle_memory_makes_room", There::has_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId pool = w.allocator.create_pool();
       w.allocator.begin_pool(pool);
       w.allocator.free(w.malloc(60 * kMiB));
       const bool served = w.serves(70 * kMiB);
       w.allocator.end_pool(pool);
       return served;
     }},
    {"D21_a_live_pool_is_emptied_on_request", There::has_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId pool = w.allocator.create_pool();
       w.allocator.begin_pool(pool);
       w.allocator.free(w.malloc(60 * kMiB));
       w.allocator.end_pool(pool);
       return w.allocator.empty_pool(pool) == 60 * kMiB;
     }},
    {"D22_scopes_may_be_entered_again_and_by_two_threads", There::has_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId pool = w.allocator.create_pool();
       w.allocator.begin_pool(pool);
       bool entered = true;
       std::thread other([&] {
         try {
           w.allocator.begin_pool(pool);
           (void)w.malloc(512);
           w.allocator.end_pool(pool);
         } catch (const InvalidArgument&) {
           entered = false;
         }
       });
       other.join();
       w.allocator.end_pool(pool);
       return entered && w.allocator.pool_segments(pool).size() == 1;
     }},
    {"D22_the_innermost_scope_of_the_thread_decides", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId outer = w.allocator.create_pool();
       const PoolId inner = w.allocator.create_pool();
       w.allocator.begin_pool(outer);
       w.allocator.begin_pool(inner);
       (void)w.malloc(512);
       std::thread([&] { (void)w.malloc(2 * kMiB); }).join();  // of no scope
       w.allocator.end_pool(inner);
       w.allocator.end_pool(outer);
       return w.allocator.pool_segments(inner).size() == 1 &&
              w.allocator.pool_segments(outer).empty() && w.allocator.pool_segments({}).size() == 1;
     }},
    {"D23_a_pool_that_ended_can_be_used_again", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId pool = w.allocator.create_pool({.use_on_oom = true});
       w.allocator.begin_pool(pool);
       const Buffer held = w.malloc(kMiB);
       w.allocator.end_pool(pool);
       w.allocator.destroy_pool(pool);
       w.allocator.begin_pool(pool);
       const bool same_segment = w.malloc(512).address() == held.address() + kMiB;
       w.allocator.end_pool(pool);
       return same_segment && !w.serves(200 * kMiB) && w.allocator.pool_uses(pool) == 0;
     }},
    {"D24_a_block_outlives_its_pool_whose_memory_then_goes", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId pool = w.allocator.create_pool();
       w.allocator.begin_pool(pool);
       const Buffer held = w.malloc(30 * kMiB);
       w.allocator.end_pool(pool);
       w.allocator.destroy_pool(pool);
       const bool kept = w.now().reserved_bytes.all.current == 30 * kMiB;
       w.allocator.free(held);
       (void)w.allocator.empty_cache();
       return kept && w.now().reserved_bytes.all.current == 0;
     }},
    {"D30_a_use_ends_with_the_work_that_was_queued_when_it_was_said", There::has_it,
     [](Decisions decisions) {
       World w(decisions, 20 * kMiB);
       const Buffer buffer = w.malloc(20 * kMiB);
       w.work(1);
       w.allocator.record_stream(buffer, w.streams[1]);
       w.device().streams().wait(w.streams[1]);
       w.work(1);  // has nothing to do with the buffer
       w.allocator.free(buffer);
       return w.serves(20 * kMiB) && w.machine().pending(w.streams[1]) > 0;
     }},
    {"D30_uses_are_reached_in_the_order_of_the_device", There::has_it,
     [](Decisions decisions) {
       World w(decisions, 40 * kMiB);
       const Buffer late = w.malloc(20 * kMiB);
       const Buffer early = w.malloc(20 * kMiB);
       w.work(1);
       w.allocator.record_stream(early, w.streams[1]);
       w.device().streams().submit(w.streams[1]);
       while (w.machine().run_one(w.streams[1])) {
       }
       w.work(1);
       w.allocator.record_stream(late, w.streams[1]);
       w.allocator.free(late);
       w.allocator.free(early);
       return w.serves(20 * kMiB) && w.machine().pending(w.streams[1]) > 0;
     }},
    {"D35_the_limit_holds_for_all_that_is_reserved", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions);
       (void)w.allocator.set_memory_fraction(0.5);
       bool held = true;
       for (const std::uint64_t bytes :
            std::array{kMiB / 2, 9 * kMiB, 11 * kMiB, 19 * kMiB, 9 * kMiB}) {
         (void)w.serves(bytes);
         held = held && w.now().reserved_bytes.all.current <= std::int64_t{50 * kMiB};
       }
       return held && !w.serves(20 * kMiB);
     }},
    {"D37_out_of_memory_frees_no_more_than_it_needs", There::has_it,
     [](Decisions decisions) {
       World w(decisions);
       std::vector<Buffer> held;
       for (int i = 0; i < 5; ++i) held.push_back(w.malloc(20 * kMiB));
       for (const Buffer buffer : held) w.allocator.free(buffer);
       (void)w.malloc(30 * kMiB);
       return w.now().num_device_free == 2;
     }},
    {"D40_a_lowered_limit_frees_no_part_of_a_segment", There::refuses_it,
     [](Decisions decisions) {
       SegmentSettings settings;
       settings.max_split_bytes = 64 * kMiB;
       World w(decisions, 70 * kMiB, settings);
       w.allocator.free(w.malloc(60 * kMiB));
       const Buffer low = w.malloc(25 * kMiB);
       settings.max_split_bytes = 32 * kMiB;
       w.allocator.set_settings(settings);
       const bool refused = !w.serves(20 * kMiB) && !w.serves(45 * kMiB);
       return refused && w.calls(device::Call::deallocate) == 0 &&
              w.device().counts().refused_frees == 0 && w.allocator.size(low) == 25 * kMiB;
     }},
    {"D42_entering_a_pool_again_leaks_no_use", There::has_it,
     [](Decisions decisions) {
       World w(decisions);
       const PoolId pool = w.allocator.create_pool();
       w.allocator.begin_pool(pool);
       w.allocator.free(w.malloc(30 * kMiB));
       try {
         w.allocator.begin_pool(pool);
         w.allocator.end_pool(pool);
       } catch (const InvalidArgument&) {
       }
       w.allocator.end_pool(pool);
       w.allocator.destroy_pool(pool);
       return w.now().reserved_bytes.all.current == 0;
     }},
    {"R07_two_threads_do_not_pass_the_limit_together", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions, 400 * kMiB);
       w.allocator.set_memory_limit(100 * kMiB, LimitRule::hard);
       std::vector<std::thread> threads;
       for (int t = 0; t < 4; ++t) {
         threads.emplace_back([&] {
           for (int i = 0; i < 50; ++i) {
             if (!w.serves(11 * kMiB)) break;
           }
         });
       }
       for (std::thread& thread : threads) thread.join();
       return w.now().reserved_bytes.all.peak <= std::int64_t{100 * kMiB};
     }},
    {"R08_idle_memory_goes_before_a_request_is_rejected", There::has_it,
     [](Decisions decisions) {
       SegmentSettings settings;
       settings.throw_on_device_malloc_oom = true;
       World w(decisions, 100 * kMiB, settings);
       w.allocator.free(w.malloc(60 * kMiB));
       return w.serves(70 * kMiB) && !w.serves(70 * kMiB) && w.now().num_oom_rejections == 1;
     }},
    {"R11_no_bytes_are_no_memory_and_reach_nobody", There::refuses_it,
     [](Decisions decisions) {
       World w(decisions);
       const Buffer nothing = w.malloc(0);
       w.allocator.free(nothing);
       return !nothing && w.calls(device::Call::allocate) == 0 &&
              w.now().allocation.all.allocated == 0;
     }},
};

class SegmentDefects : public testing::TestWithParam<Defect> {};
INSTANTIATE_TEST_SUITE_P(Rows, SegmentDefects, testing::ValuesIn(kDefects),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(SegmentDefects, are_not_ours) {
  EXPECT_TRUE(GetParam().goes_right(Decisions::ours));
}

TEST_P(SegmentDefects, show_when_they_are_switched_on) {
  EXPECT_EQ(GetParam().goes_right(Decisions::pytorch), GetParam().pytorch == There::refuses_it);
}

}  // namespace
}  // namespace strandline::alloc
