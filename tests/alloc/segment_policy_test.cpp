// SPDX-License-Identifier: Apache-2.0
// The policies of segments: the best-fit index against an ordered set, the list of blocks against a
// list of borders, the rules of sizes by their tables.
#include <list>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/segment/best_fit.h"
#include "alloc/segment/block_list.h"
#include "alloc/segment/size_rules.h"
#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

struct Ordered {
  bool operator()(const SegmentBlock* a, const SegmentBlock* b) const {
    return std::tuple(a->size, a->order, a->address) < std::tuple(b->size, b->order, b->address);
  }
};
using Model = std::set<SegmentBlock*, Ordered>;

SegmentBlock free_block(std::uint64_t address, std::uint64_t size, std::uint32_t order = 1) {
  SegmentBlock block;
  block.address = address;
  block.size = size;
  block.order = order;
  block.use = BlockUse::kept;
  return block;
}

SegmentBlock* at_least(const Model& model, std::uint64_t size) {
  SegmentBlock key = free_block(0, size, 0);
  const auto found = model.lower_bound(&key);
  return found == model.end() ? nullptr : *found;
}

// -- best fit -------------------------------------------------------------------------------------

TEST(BestFit, takes_the_smallest_then_the_older_segment_then_the_lower_address) {
  BestFit fit;
  SegmentBlock larger = free_block(512, 4096, 1);
  SegmentBlock younger = free_block(1024, 2048, 7);
  SegmentBlock higher = free_block(9 * kMiB, 2048, 3);
  SegmentBlock lower = free_block(8 * kMiB, 2048, 3);
  for (SegmentBlock* block : {&larger, &younger, &higher, &lower}) fit.insert(*block);
  for (const SegmentBlock* expected : {&lower, &higher, &younger, &larger}) {
    SegmentBlock* found = fit.find(1536);
    ASSERT_EQ(found, expected);
    fit.erase(*found);
    fit.validate();
  }
  EXPECT_EQ(fit.find(512), nullptr);
  EXPECT_EQ(fit.bytes(), 0u);
}

TEST(BestFit, bins_rise_with_sizes_and_hold_every_size) {
  std::size_t before = 0;
  for (std::uint64_t size = 512; size < std::uint64_t{1} << 62;
       size += size / 100 / 512 * 512 + 512) {
    const std::size_t bin = BestFit::bin_of(size);
    EXPECT_GE(bin, before) << size;
    ASSERT_LT(bin, BestFit::kBins) << size;
    before = bin;
  }
}

TEST(BestFit, agrees_with_an_ordered_set_on_random_programs) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    // Few sizes make trees, many make bins.
    const std::uint64_t kinds = seed % 2 == 0 ? 5 : 100'000;
    std::list<SegmentBlock> blocks;
    std::vector<SegmentBlock*> in;
    BestFit fit;
    Model model;
    for (int step = 0; step < 4000; ++step) {
      if (in.size() < 20 || random() % 2 == 0) {
        const auto order = static_cast<std::uint32_t>(random() % 5);
        blocks.push_back(free_block(512 * static_cast<std::uint64_t>(step + 1),
                                    512 * (1 + random() % kinds), order));
        fit.insert(blocks.back());
        model.insert(&blocks.back());
        in.push_back(&blocks.back());
      } else {
        const std::size_t which = random() % in.size();
        fit.erase(*in[which]);
        model.erase(in[which]);
        in.erase(in.begin() + static_cast<std::ptrdiff_t>(which));
      }
      const std::uint64_t wanted = 512 * (1 + random() % (kinds + 3));
      ASSERT_EQ(fit.find(wanted), at_least(model, wanted));
      if (step % 64 == 0) fit.validate();
    }
    std::vector<SegmentBlock*> upwards;
    for (SegmentBlock* b = fit.first(); b != nullptr; b = fit.after(*b)) upwards.push_back(b);
    EXPECT_TRUE(std::equal(upwards.begin(), upwards.end(), model.begin(), model.end()));
    std::vector<SegmentBlock*> downwards;
    for (SegmentBlock* b = fit.last(); b != nullptr; b = fit.ahead_of(*b)) downwards.push_back(b);
    EXPECT_TRUE(std::equal(downwards.begin(), downwards.end(), model.rbegin(), model.rend()));
  }
}

TEST(BestFit, with_the_latest_first_takes_among_equals_the_one_freed_last) {
  BestFit fit(Ties::latest_first);
  std::list<SegmentBlock> blocks;
  for (std::uint64_t i = 1; i <= 5; ++i) blocks.push_back(free_block(i * 8192, 4096));
  for (SegmentBlock& block : blocks) fit.insert(block);
  SegmentBlock larger = free_block(512, 3 << 20);
  fit.insert(larger);
  fit.validate();
  fit.erase(*std::next(blocks.begin(), 2));
  fit.validate();
  std::vector<std::uint64_t> order;
  for (SegmentBlock* b = fit.first(); b != nullptr; b = fit.after(*b)) order.push_back(b->address);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{5 * 8192, 4 * 8192, 2 * 8192, 8192, 512}));
  std::vector<std::uint64_t> back;
  for (SegmentBlock* b = fit.last(); b != nullptr; b = fit.ahead_of(*b)) back.push_back(b->address);
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(back, order);
  EXPECT_EQ(fit.find(1024)->address, 5u * 8192);
  EXPECT_EQ(fit.find(4608), &larger);
}

TEST(BestFit, validate_finds_a_block_that_changed_while_it_was_in) {
  BestFit fit;
  SegmentBlock block = free_block(512, 4096);
  fit.insert(block);
  block.size = 8192;
  EXPECT_THROW(fit.validate(), InternalError);
  block.size = 4096;
  block.use = BlockUse::allocated;
  EXPECT_THROW(fit.validate(), InternalError);
}

// -- blocks of a segment --------------------------------------------------------------------------

TEST(BlockList, cuts_and_joins_to_what_was) {
  std::mt19937_64 random(7);
  std::list<SegmentBlock> records;
  records.push_back(free_block(4096, 64 * 512));
  SegmentBlock& first = records.front();
  first.use = BlockUse::allocated;
  std::size_t pieces = 1;
  for (int step = 0; step < 3000; ++step) {
    std::vector<SegmentBlock*> all;
    for (SegmentBlock* b = &first; b != nullptr; b = b->following()) all.push_back(b);
    ASSERT_EQ(all.size(), pieces);
    SegmentBlock* block = all[random() % all.size()];
    if (random() % 2 == 0 && block->size > 512) {
      records.emplace_back();
      records.back().use = BlockUse::allocated;
      BlockList::cut(*block, 512 * (1 + random() % (block->size / 512 - 1)), records.back());
      ++pieces;
    } else if (block->next != nullptr) {
      block->following()->use = BlockUse::unused;
      BlockList::join_next(*block);
      --pieces;
    }
    BlockList::validate(first, 4096, 64 * 512);
  }
  while (first.next != nullptr) BlockList::join_next(first);
  EXPECT_EQ(first.size, 64u * 512);
}

TEST(BlockList, validate_finds_gaps_free_neighbours_and_wrong_ends) {
  SegmentBlock first = free_block(0, 4096);
  SegmentBlock rest;
  first.use = BlockUse::allocated;
  rest.use = BlockUse::allocated;
  BlockList::cut(first, 1024, rest);
  EXPECT_NO_THROW(BlockList::validate(first, 0, 4096));
  EXPECT_THROW(BlockList::validate(first, 0, 8192), InternalError);
  first.use = BlockUse::kept;
  rest.use = BlockUse::kept;
  EXPECT_THROW(BlockList::validate(first, 0, 4096), InternalError);
  rest.use = BlockUse::allocated;
  rest.address += 512;
  EXPECT_THROW(BlockList::validate(first, 0, 4096), InternalError);
}

// -- sizes ----------------------------------------------------------------------------------------

SizeRules with_divisions(std::uint64_t divisions, Decisions decisions = Decisions::pytorch) {
  SegmentSettings settings;
  settings.roundup_power2_divisions.fill(divisions);
  return SizeRules(settings, decisions);
}

TEST(SizeRules, round_to_512_bytes_or_divisions_of_powers_of_two) {
  struct Row {
    std::uint64_t bytes, by0, by1, by2, by4, by8;
  };
  const std::vector<Row> rows = {
      {1, 512, 512, 512, 512, 512},
      {511, 512, 512, 512, 512, 512},
      {512, 512, 512, 512, 512, 512},
      {513, 1024, 1024, 1024, 1024, 1024},
      {1200, 1536, 1536, 1536, 1536, 1536},
      {2500, 2560, 2560, 3072, 2560, 2560},
      {8500, 8704, 8704, 12288, 10240, 9216},
      {kMiB, kMiB, kMiB, kMiB, kMiB, kMiB},
      {kMiB + 1, kMiB + 512, kMiB + 512, 3 * kMiB / 2, 5 * kMiB / 4, 9 * kMiB / 8},
      {10 * kMiB - 1, 10 * kMiB, 10 * kMiB, 12 * kMiB, 10 * kMiB, 10 * kMiB},
      {10 * kMiB, 10 * kMiB, 10 * kMiB, 12 * kMiB, 10 * kMiB, 10 * kMiB},
      {10 * kMiB + 1, 10 * kMiB + 512, 10 * kMiB + 512, 12 * kMiB, 12 * kMiB, 11 * kMiB}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.bytes);
    EXPECT_EQ(SizeRules().rounded(row.bytes), row.by0);
    EXPECT_EQ(with_divisions(0).rounded(row.bytes), row.by0);
    EXPECT_EQ(with_divisions(1).rounded(row.bytes), row.by1);
    EXPECT_EQ(with_divisions(2).rounded(row.bytes), row.by2);
    EXPECT_EQ(with_divisions(4).rounded(row.bytes), row.by4);
    EXPECT_EQ(with_divisions(8).rounded(row.bytes), row.by8);
  }
}

TEST(SizeRules, take_the_divisions_of_the_interval_of_a_size) {
  SegmentSettings settings;
  settings.roundup_power2_divisions[2] = 4;   // 4 to 8 MiB
  settings.roundup_power2_divisions[15] = 2;  // 32 GiB and all above
  const SizeRules rules(settings, Decisions::ours);
  EXPECT_EQ(rules.rounded(3 * kMiB + 1), 3 * kMiB + 512);
  EXPECT_EQ(rules.rounded(4 * kMiB + 1), 5 * kMiB);
  EXPECT_EQ(rules.rounded(8 * kMiB + 1), 8 * kMiB + 512);
  EXPECT_EQ(rules.rounded(129 * 1024 * kMiB), 192 * 1024 * kMiB);
}

TEST(SizeRules, ask_the_device_for_2_or_20_mib_or_multiples_of_2) {
  const SizeRules rules;
  EXPECT_EQ(rules.device_request(512), 2 * kMiB);
  EXPECT_EQ(rules.device_request(kMiB), 2 * kMiB);
  EXPECT_EQ(rules.device_request(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(rules.device_request(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(rules.device_request(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(rules.device_request(10 * kMiB + 512), 12 * kMiB);
}

TEST(SizeRules, cut_small_blocks_from_512_bytes_and_large_ones_above_a_mib) {
  SegmentSettings settings;
  settings.max_split_bytes = 32 * kMiB;
  const SizeRules rules(settings, Decisions::ours);
  EXPECT_FALSE(rules.cuts(512, 511, true));
  EXPECT_TRUE(rules.cuts(512, 512, true));
  EXPECT_FALSE(rules.cuts(2 * kMiB, kMiB, false));
  EXPECT_TRUE(rules.cuts(2 * kMiB, kMiB + 512, false));
  EXPECT_FALSE(rules.cuts(32 * kMiB, 20 * kMiB, false)) << "oversize blocks stay whole";
}

TEST(SizeRules, keep_oversize_blocks_for_requests_nearly_as_large) {
  SegmentSettings settings;
  settings.max_split_bytes = 32 * kMiB;
  const SizeRules rules(settings, Decisions::ours);
  EXPECT_TRUE(rules.may_serve(32 * kMiB - 512, 512));
  EXPECT_FALSE(rules.may_serve(32 * kMiB, 32 * kMiB - 512));
  EXPECT_TRUE(rules.may_serve(52 * kMiB - 512, 32 * kMiB));
  EXPECT_FALSE(rules.may_serve(52 * kMiB, 32 * kMiB)) << "equality misses";
}

TEST(SizeRules, refuse_settings_by_name_and_value) {
  const auto message = [](auto&& change) {
    SegmentSettings settings;
    change(settings);
    try {
      check_settings(settings);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([](SegmentSettings&) {}), "");
  EXPECT_THAT(message([](SegmentSettings& s) { s.max_split_bytes = kMiB; }),
              testing::HasSubstr("max_split_bytes; got 1048576"));
  EXPECT_THAT(message([](SegmentSettings& s) { s.large_segment_bytes = 10 * kMiB; }),
              testing::HasSubstr("large_segment_bytes"));
  EXPECT_THAT(message([](SegmentSettings& s) { s.max_non_split_rounding_bytes = 1; }),
              testing::HasSubstr("max_non_split_rounding_bytes"));
  EXPECT_THAT(message([](SegmentSettings& s) { s.garbage_collection_threshold = 1; }),
              testing::HasSubstr("garbage_collection_threshold"));
  EXPECT_THAT(message([](SegmentSettings& s) { s.per_process_memory_fraction = 1.5; }),
              testing::HasSubstr("1.5"));
  EXPECT_THAT(message([](SegmentSettings& s) { s.roundup_power2_divisions[3] = 3; }),
              testing::HasSubstr("roundup_power2_divisions; got 3"));
}

}  // namespace
}  // namespace strandline::alloc
