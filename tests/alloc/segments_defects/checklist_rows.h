// SPDX-License-Identifier: Apache-2.0
// What an allocator that matches PyTorch's must do (spec segment-allocator, section 6), one
// scenario a number: they go right with both decisions, and each is brought about by a fault.
// Numbers 9, 10 and 14 (captures, expandable segments) are not served; 13, 15 and 16 are tested
// elsewhere, see docs/segment-allocator.md.
#pragma once

#include "alloc/segments_defects/world.h"

namespace strandline::alloc::defects {

struct SizeCase {
  std::uint64_t asked;
  std::uint64_t given;
};

/// A block of the size that is expected, each from a fresh allocator.
inline bool all_are_given(Decisions decisions, const SegmentSettings& settings,
                          const std::vector<SizeCase>& cases) {
  bool all = true;
  for (const SizeCase& one : cases) {
    World w(decisions, 4096 * kMiB, settings);
    all = all && w.allocator.size(w.malloc(one.asked)) == one.given;
  }
  return all;
}

inline std::vector<Row> checklist_rows() {
  using program::Verb;
  return {
      {"C01_sizes_are_rounded_by_the_table", Fault::C01_sizes_are_rounded_to_256_bytes,
       [](Decisions decisions) {
         const std::vector<SizeCase> plain = {{1, 512},
                                              {511, 512},
                                              {512, 512},
                                              {513, 1024},
                                              {kMiB, kMiB},
                                              {kMiB + 1, kMiB + 512},
                                              {10 * kMiB - 1, 10 * kMiB},
                                              {10 * kMiB, 10 * kMiB},
                                              {10 * kMiB + 1, 10 * kMiB + 512}};
         SegmentSettings fourths;
         fourths.roundup_power2_divisions.fill(4);
         return all_are_given(decisions, {}, plain) && all_are_given(decisions, fourths,
                                                                     {{1200, 1536},
                                                                      {2500, 2560},
                                                                      {4096, 4096},
                                                                      {5 * kMiB, 5 * kMiB},
                                                                      {5 * kMiB + 1, 6 * kMiB}});
       }},
      {"C02_segments_are_of_2_or_20_mib_or_multiples_of_2", Fault::C02_ten_mib_share_a_segment,
       [](Decisions decisions) {
         const std::vector<SizeCase> cases = {
             {1, 2},          {kMiB, 2},           {kMiB + 1, 20}, {10 * kMiB - 512, 20},
             {10 * kMiB, 10}, {10 * kMiB + 1, 12}, {21 * kMiB, 22}};
         bool all = true;
         for (const SizeCase& one : cases) {
           World w(decisions);
           (void)w.malloc(one.asked);
           all = all && w.reserved() == one.given * kMiB;
         }
         return all;
       }},
      {"C03_remainders_are_cut_from_512_bytes_or_above_a_mib",
       Fault::C03_remainders_at_the_border_are_cut,
       [](Decisions decisions) {
         World w(decisions);
         (void)w.malloc(kMiB);
         const bool small = w.allocator.size(w.malloc(kMiB - 512)) == kMiB - 512;
         w.allocator.free(w.malloc(20 * kMiB));
         const Buffer whole = w.malloc(19 * kMiB);
         const bool at_the_border = w.allocator.size(whole) == 20 * kMiB;
         w.allocator.free(whole);
         const Buffer cut = w.malloc(19 * kMiB - 512);
         return small && at_the_border && w.allocator.size(cut) == 19 * kMiB - 512;
       }},
      {"C04_equals_serve_by_age_of_their_segment_and_address",
       Fault::C04_the_newer_segment_serves_first,
       [](Decisions decisions) {
         World w(decisions, 200 * kMiB);
         std::vector<Buffer> threes;
         for (int i = 0; i < 6; ++i) threes.push_back(w.malloc(3 * kMiB));
         const std::vector<Buffer> own = {w.malloc(24 * kMiB), w.malloc(24 * kMiB)};
         for (const Buffer buffer : {threes[3], threes[1], own[1], own[0]})
           w.allocator.free(buffer);
         return w.malloc(24 * kMiB) == own[0] && w.malloc(3 * kMiB) == threes[1] &&
                w.malloc(3 * kMiB) == threes[3];
       }},
      {"C05_a_free_block_serves_its_own_stream_alone", Fault::C05_streams_share_free_blocks,
       [](Decisions decisions) {
         World w(decisions);
         const Buffer held = w.malloc(20 * kMiB);
         w.allocator.free(held);
         return w.malloc(20 * kMiB, 1) != held && w.malloc(20 * kMiB) == held;
       }},
      {"C06_what_is_tried_when_memory_is_short_comes_in_order",
       Fault::C06_idle_memory_goes_before_reserves_are_asked,
       [](Decisions decisions) {
         World w(decisions);
         w.allocator.set_memory_limit(200 * kMiB,
                                      LimitRule::guideline);  // past it idle memory goes
         const PoolId reserve = w.allocator.create_pool({.use_on_oom = true});
         w.allocator.begin_pool(reserve);
         w.allocator.free(w.malloc(30 * kMiB));
         w.allocator.end_pool(reserve);
         w.allocator.free(w.malloc(40 * kMiB, 1));
         (void)w.malloc(10 * kMiB);
         (void)w.asked();
         (void)w.malloc(28 * kMiB);
         const bool from_the_reserve = w.asked() == std::vector{Verb::malloc_failed};
         (void)w.malloc(28 * kMiB);
         return from_the_reserve &&
                w.asked() == std::vector{Verb::malloc_failed, Verb::free, Verb::malloc};
       }},
      {"C07_a_free_is_requested_then_completed_after_its_uses",
       Fault::C07_frees_complete_before_their_uses,
       [](Decisions decisions) {
         std::vector<record::Action> heard;
         World w(decisions);
         w.allocator.add_trace_tracker(
             [&](const TraceEntry& entry) { heard.push_back(entry.action); });
         const Buffer buffer = w.malloc(3 * kMiB);
         w.work(1);
         w.allocator.record_stream(buffer, w.streams[1]);
         heard.clear();
         w.allocator.free(buffer);
         const SegmentStatistics between = w.now();
         const bool waits = w.allocator.poll() == 0 &&
                            heard == std::vector{record::Action::free_requested} &&
                            between.allocated_bytes.all.current == 0 &&
                            between.active_bytes.all.current == std::int64_t{3 * kMiB};
         w.device().streams().wait(w.streams[1]);
         return waits && w.allocator.poll() == 1 &&
                heard.back() == record::Action::free_completed &&
                w.now().active_bytes.all.current == 0;
       }},
      {"C08_scopes_are_uses_and_a_pool_ends_with_its_last", Fault::C08_leaving_a_pool_keeps_its_use,
       [](Decisions decisions) {
         World w(decisions);
         const PoolId pool = w.allocator.create_pool();
         w.allocator.begin_pool(pool);
         const bool two = w.allocator.pool_uses(pool) == 2;
         w.allocator.free(w.malloc(30 * kMiB));
         w.allocator.end_pool(pool);
         const bool one = w.allocator.pool_uses(pool) == 1;
         w.allocator.destroy_pool(pool);
         return two && one && w.reserved() == 0;
       }},
      {"C11_a_fraction_of_memory_is_a_limit", Fault::C11_a_fraction_is_no_limit,
       [](Decisions decisions) {
         World w(decisions);
         (void)w.allocator.set_memory_fraction(0.5);
         const bool refused = !w.serves(60 * kMiB) && w.serves(50 * kMiB);
         (void)w.allocator.set_memory_fraction(1);
         return refused && w.serves(50 * kMiB);
       }},
      {"C12_statistics_say_what_is_the_case", Fault::C12_requested_bytes_are_not_taken_back,
       [](Decisions decisions) {
         World w(decisions);
         const Buffer buffer = w.malloc(1000);
         const SegmentStatistics held = w.now();
         w.allocator.free(buffer);
         const SegmentStatistics after = w.now();
         return held.requested_bytes.all.current == 1000 && held.active_bytes.all.current == 1024 &&
                held.inactive_split_bytes.small_pool.current == std::int64_t{2 * kMiB - 1024} &&
                after.requested_bytes.all == Stat{.peak = 1000, .allocated = 1000, .freed = 1000} &&
                after.inactive_split.all.current == 0 && after.segment.small_pool.current == 1;
       }},
  };
}

}  // namespace strandline::alloc::defects
