// SPDX-License-Identifier: Apache-2.0
// The public defects of PyTorch's allocator (D) and the hazards read in it (R), one scenario each.
// Those that it has are brought about by its decisions. Those that no decisions may have (memory
// handed out twice, an address inside a segment freed) go right with both, and are brought about by
// a fault. Rows that are not here, and why, stand in docs/segment-allocator.md.
#pragma once

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "alloc/segments_defects/world.h"
#include "strandline/alloc/settings.h"

namespace strandline::alloc::defects {

/// Whether another thread's call ends while this one waits for it; `other` is joined by its end.
inline bool other_thread_gets_an_answer(World& w, std::future<void>& other) {
  constexpr std::chrono::seconds kFarTooLong{5};
  other = std::async(std::launch::async, [&w] { (void)w.now(); });
  return other.wait_for(kFarTooLong) == std::future_status::ready;
}

inline std::vector<Row> defect_rows() {
  return {
      {"D01_oom_retries_after_sync", Decisions::pytorch,
       [](Decisions decisions) {
         World w(decisions, 20 * kMiB);
         std::vector<Buffer> held;
         for (int i = 0; i < 4; ++i) held.push_back(w.malloc(5 * kMiB));
         w.work(1);
         w.allocator.record_stream(held[1], w.streams[1]);
         w.allocator.free(held[1]);
         return w.serves(5 * kMiB) && w.now().segment.all.current == 1;
       }},
      {"D12_garbage_is_collected_without_a_limit", Decisions::pytorch,
       [](Decisions decisions) {
         SegmentSettings settings;
         settings.garbage_collection_threshold = 0.3;
         World w(decisions, 100 * kMiB, settings);
         w.allocator.free(w.malloc(40 * kMiB));
         (void)w.malloc(44 * kMiB);
         return w.now().num_device_free == 1;
       }},
      {"D12_garbage_of_private_pools_is_collected_too", Decisions::pytorch,
       [](Decisions decisions) {
         SegmentSettings settings;
         settings.garbage_collection_threshold = 0.3;
         World w(decisions, 100 * kMiB, settings);
         (void)w.allocator.set_memory_fraction(0.9);
         const PoolId pool = w.allocator.create_pool();
         w.allocator.begin_pool(pool);
         w.allocator.free(w.malloc(40 * kMiB));
         w.allocator.end_pool(pool);
         (void)w.malloc(44 * kMiB);
         return w.now().num_device_free == 1;
       }},
      {"D13_waits_for_no_more_than_it_needs", Decisions::pytorch,
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
      {"D14_one_division_is_the_next_power_of_two", Decisions::pytorch,
       [](Decisions decisions) {
         SegmentSettings settings;
         settings.roundup_power2_divisions.fill(1);
         World w(decisions, 4096 * kMiB, settings);
         return w.allocator.size(w.malloc(514 * kMiB)) == 1024 * kMiB;
       }},
      {"D15_above_leaves_the_last_interval_alone", Fault::D15_above_overwrites_the_last_interval,
       [](Decisions decisions) {
         Settings settings;
         (void)apply_settings("roundup_power2_divisions:[256:1,512:2,>:4]", settings, decisions);
         return settings.roundup_power2_divisions[9] == 2 &&
                settings.roundup_power2_divisions[10] == 4;
       }},
      {"D16_absurd_sizes_are_out_of_memory_at_every_entry", Fault::D16_sizes_wrap,
       [](Decisions decisions) {
         World w(decisions);
         for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - 511, std::uint64_t{1} << 63,
                                           (std::uint64_t{1} << 63) + 1, std::uint64_t{1} << 60}) {
           if (w.serves(bytes)) return false;
         }
         return w.now().allocation.all.current == 0;
       }},
      {"D17_oversize_counts_survive_a_changed_limit", Decisions::pytorch,
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
      {"D17_bad_settings_change_nothing", Decisions::pytorch,
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
      {"D18_a_wrong_separator_is_an_error_that_names_it", Decisions::pytorch,
       [](Decisions decisions) {
         Settings settings;
         try {
           (void)apply_settings("max_split_size_mb,64", settings, decisions);
           return false;
         } catch (const SettingsError& error) {
           return error.key == "max_split_size_mb" && error.value == "," && error.position == 17;
         }
       }},
      {"D19_each_variable_is_read", Fault::D19_one_variable_is_not_read,
       [](Decisions decisions) {
         constexpr std::array kVariables = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
                                            "PYTORCH_HIP_ALLOC_CONF"};
         bool all = true;
         for (const char* variable : kVariables) {
           setenv(variable, "max_split_size_mb:64", 1);
           const EnvironmentSettings found = settings_from_environment(decisions);
           unsetenv(variable);
           all = all && found.variable == variable && found.settings.max_split_bytes == 64 * kMiB;
         }
         return all;
       }},
      {"D20_the_error_says_what_is_the_case_when_information_fails",
       Fault::D20_missing_information_masks_the_error,
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
      {"D21_idle_memory_makes_room_for_a_pool_that_is_entered",
       Fault::D21_a_pool_that_is_entered_is_a_capture,
       [](Decisions decisions) {
         World w(decisions);
         w.allocator.free(w.malloc(60 * kMiB));
         const PoolId pool = w.allocator.create_pool();
         w.allocator.begin_pool(pool);
         const bool served = w.serves(70 * kMiB);
         w.allocator.end_pool(pool);
         return served;
       }},
      {"D21_a_pools_own_idle_memory_makes_room", Decisions::pytorch,
       [](Decisions decisions) {
         World w(decisions);
         const PoolId pool = w.allocator.create_pool();
         w.allocator.begin_pool(pool);
         w.allocator.free(w.malloc(60 * kMiB));
         const bool served = w.serves(70 * kMiB);
         w.allocator.end_pool(pool);
         return served;
       }},
      {"D21_a_live_pool_is_emptied_on_request", Decisions::pytorch,
       [](Decisions decisions) {
         World w(decisions);
         const PoolId pool = w.allocator.create_pool();
         w.allocator.begin_pool(pool);
         w.allocator.free(w.malloc(60 * kMiB));
         w.allocator.end_pool(pool);
         return w.allocator.empty_pool(pool) == 60 * kMiB;
       }},
      {"D22_scopes_may_be_entered_again_and_by_two_threads", Decisions::pytorch,
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
      {"D22_the_innermost_scope_of_the_thread_decides", Fault::D22_the_first_scope_decides,
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
                w.allocator.pool_segments(outer).empty() &&
                w.allocator.pool_segments({}).size() == 1;
       }},
      {"D23_a_pool_that_ended_can_be_used_again", Fault::D23_ended_pools_are_refused,
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
      {"D23_a_pool_that_ended_serves_nobody_else", Fault::D23_ended_pools_serve_others,
       [](Decisions decisions) {
         World w(decisions);
         const PoolId pool = w.allocator.create_pool({.use_on_oom = true});
         w.allocator.begin_pool(pool);
         (void)w.malloc(5 * kMiB);
         const Buffer hole = w.malloc(5 * kMiB);
         w.allocator.end_pool(pool);
         w.allocator.free(hole);
         w.allocator.release_pool(pool);
         (void)w.malloc(80 * kMiB);
         return !w.serves(5 * kMiB);
       }},
      {"D24_a_block_outlives_its_pool_whose_memory_then_goes",
       Fault::D24_ended_pools_keep_their_memory,
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
      {"D30_a_use_ends_with_the_work_that_was_queued_when_it_was_said", Decisions::pytorch,
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
      {"D30_uses_are_reached_in_the_order_of_the_device", Decisions::pytorch,
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
      {"D30_a_stream_that_ended_holds_nothing_back", Decisions::pytorch,
       [](Decisions decisions) {
         World w(decisions, 20 * kMiB);
         const Buffer buffer = w.malloc(20 * kMiB);
         const StreamId gone = w.device().streams().create();
         w.allocator.record_stream(buffer, gone);
         (void)w.device().streams().destroy(gone);
         w.allocator.free(buffer);
         return w.serves(20 * kMiB);
       }},
      {"D35_the_limit_holds_for_all_that_is_reserved", Fault::D35_limits_count_what_was_requested,
       [](Decisions decisions) {
         World w(decisions);
         (void)w.allocator.set_memory_fraction(0.5);
         bool held = true;
         for (const std::uint64_t bytes :
              std::array{kMiB / 2, 9 * kMiB, 12 * kMiB, 9 * kMiB, 9 * kMiB}) {
           (void)w.serves(bytes);
           held = held && w.now().reserved_bytes.all.current <= std::int64_t{50 * kMiB};
         }
         return held && !w.serves(20 * kMiB);
       }},
      {"D36_callbacks_are_called_without_a_lock", Fault::D36_callbacks_are_called_under_the_lock,
       [](Decisions decisions) {
         World w(decisions, 20 * kMiB);
         std::future<void> other;
         bool answered = false;
         w.allocator.add_free_memory_callback([&] {
           answered = other_thread_gets_an_answer(w, other);
           return false;
         });
         (void)w.malloc(15 * kMiB);
         return answered;
       }},
      {"D36_the_device_is_called_without_a_lock", Fault::D36_the_device_is_called_under_the_lock,
       [](Decisions decisions) {
         World w(decisions, 20 * kMiB);
         std::future<void> other;
         bool answered = false;
         w.while_the_device_is_asked([&] { answered = other_thread_gets_an_answer(w, other); });
         (void)w.malloc(15 * kMiB);
         return answered;
       }},
      {"D37_out_of_memory_frees_no_more_than_it_needs", Decisions::pytorch,
       [](Decisions decisions) {
         World w(decisions);
         std::vector<Buffer> held;
         for (int i = 0; i < 5; ++i) held.push_back(w.malloc(20 * kMiB));
         for (const Buffer buffer : held) w.allocator.free(buffer);
         (void)w.malloc(30 * kMiB);
         return w.now().num_device_free == 2;
       }},
      {"D40_a_lowered_limit_frees_no_part_of_a_segment", Fault::D40_parts_of_segments_are_freed,
       [](Decisions decisions) {
         SegmentSettings settings;
         settings.max_split_bytes = 64 * kMiB;
         World w(decisions, 70 * kMiB, settings);
         w.allocator.free(w.malloc(60 * kMiB));
         const Buffer low = w.malloc(25 * kMiB);
         settings.max_split_bytes = 32 * kMiB;
         w.allocator.set_settings(settings);
         const bool refused = !w.serves(20 * kMiB) && !w.serves(45 * kMiB);
         const Buffer high = w.malloc(35 * kMiB);
         w.allocator.free(low);  // now the first part of the segment is free
         const bool refused_again = !w.serves(32 * kMiB);
         return refused && refused_again && w.calls(device::Call::deallocate) == 0 &&
                w.device().counts().refused_frees == 0 && w.allocator.size(high) == 35 * kMiB;
       }},
      {"D42_entering_a_pool_again_leaks_no_use", Decisions::pytorch,
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
      {"R07_memory_on_its_way_counts_against_the_limit",
       Fault::R07_memory_on_its_way_counts_for_nothing,
       [](Decisions decisions) {
         World w(decisions);
         w.allocator.set_memory_limit(20 * kMiB, LimitRule::hard);
         bool served_meanwhile = true;  // as another thread would be
         w.while_the_device_is_asked([&] { served_meanwhile = w.serves(12 * kMiB); });
         return w.serves(12 * kMiB) && !served_meanwhile && w.reserved() == 12 * kMiB;
       }},
      {"R08_idle_memory_goes_before_a_request_is_rejected", Decisions::pytorch,
       [](Decisions decisions) {
         SegmentSettings settings;
         settings.throw_on_device_malloc_oom = true;
         World w(decisions, 100 * kMiB, settings);
         w.allocator.free(w.malloc(60 * kMiB));
         return w.serves(70 * kMiB) && !w.serves(70 * kMiB) && w.now().num_oom_rejections == 1;
       }},
      {"R11_no_bytes_are_no_memory_and_reach_nobody",
       Fault::R11_requests_of_no_bytes_reach_the_device,
       [](Decisions decisions) {
         World w(decisions);
         const Buffer nothing = w.malloc(0);
         w.allocator.free(nothing);
         return !nothing && w.calls(device::Call::allocate) == 0 &&
                w.now().allocation.all.allocated == 0;
       }},
  };
}

}  // namespace strandline::alloc::defects
