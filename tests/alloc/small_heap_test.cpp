// SPDX-License-Identifier: Apache-2.0
// Slots: taken once, freed once, told from foreign pointers, over any number of regions.
#include "strandline/alloc/small_heap.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

using Put = SmallHeap::Put;
constexpr std::uint64_t kBase = 0x10000;

TEST(SmallHeap, hands_out_every_slot_of_its_regions_once) {
  SmallHeap heap(256, 2048);
  EXPECT_EQ(heap.take(), std::nullopt);
  heap.add_region(kBase);
  heap.add_region(kBase + 8192);
  std::set<std::uint64_t> taken;
  while (const auto slot = heap.take()) {
    EXPECT_TRUE(taken.insert(*slot).second);
    EXPECT_TRUE(heap.owns(*slot) && heap.owns(*slot + 255));
    EXPECT_TRUE(heap.is_taken(*slot));
    heap.validate();
  }
  std::set<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 8; ++i) {
    expected.insert(kBase + i * 256);
    expected.insert(kBase + 8192 + i * 256);
  }
  EXPECT_EQ(taken, expected);
  EXPECT_EQ(heap.taken_slots(), 16u);
  EXPECT_EQ(heap.free_slots(), 0u);
  std::vector<std::uint64_t> visited;
  heap.for_each_taken([&](std::uint64_t address) { visited.push_back(address); });
  EXPECT_TRUE(std::ranges::equal(visited, expected));
}

TEST(SmallHeap, tells_the_taken_slots_of_one_region) {
  SmallHeap heap(256, 1024);
  heap.add_region(kBase);
  std::set<std::uint64_t> taken;
  for (int i = 0; i < 4; ++i) taken.insert(*heap.take());
  heap.add_region(kBase + 4096);
  const std::uint64_t other = *heap.take();
  EXPECT_EQ(heap.put(kBase + 256), Put::freed);
  taken.erase(kBase + 256);
  const auto beside = [&](std::uint64_t address) {
    std::vector<std::uint64_t> visited;
    heap.for_each_taken_beside(address, [&](std::uint64_t slot) { visited.push_back(slot); });
    return visited;
  };
  EXPECT_TRUE(std::ranges::equal(beside(kBase + 1023), taken));
  EXPECT_EQ(beside(kBase + 4096), std::vector<std::uint64_t>{other});
  EXPECT_TRUE(beside(kBase + 1024).empty());
}

TEST(SmallHeap, takes_the_slot_freed_last) {
  SmallHeap heap(8, 65536);
  heap.add_region(kBase);
  const std::uint64_t first = *heap.take();
  const std::uint64_t second = *heap.take();
  EXPECT_EQ(heap.put(first), Put::freed);
  EXPECT_EQ(heap.put(second), Put::freed);
  EXPECT_EQ(heap.take(), second);
  EXPECT_EQ(heap.take(), first);
}

TEST(SmallHeap, knows_its_own_pointers) {
  SmallHeap heap(256, 1024);
  heap.add_region(kBase);
  const std::uint64_t slot = *heap.take();
  const auto refused = [&](std::uint64_t address, Put why) {
    EXPECT_EQ(heap.put(address), why) << std::hex << address;
    EXPECT_EQ(heap.taken_slots(), 1u);
    heap.validate();
  };
  refused(0, Put::not_ours);
  refused(kBase - 1, Put::not_ours);
  refused(kBase + 1024, Put::not_ours);
  refused(UINT64_MAX, Put::not_ours);
  refused(slot + 1, Put::inside);
  refused(slot + 255, Put::inside);
  refused(kBase + 512, Put::not_taken);  // never used
  EXPECT_FALSE(heap.owns(kBase - 1) || heap.owns(kBase + 1024) || heap.owns(0));
  EXPECT_TRUE(heap.owns(kBase + 1023));
  EXPECT_FALSE(heap.is_taken(slot + 8) || heap.is_taken(kBase + 512) || heap.is_taken(kBase - 256));
  EXPECT_EQ(heap.put(slot), Put::freed);
  EXPECT_EQ(heap.put(slot), Put::not_taken);
  EXPECT_EQ(heap.taken_slots(), 0u);
}

TEST(SmallHeap, gives_back_regions_without_taken_slots_only) {
  SmallHeap heap(256, 512);
  for (std::uint64_t i = 0; i < 3; ++i) heap.add_region(kBase + i * 512);
  const std::uint64_t held = *heap.take();
  std::set<std::uint64_t> given_back;
  while (const auto base = heap.remove_idle_region()) {
    EXPECT_TRUE(given_back.insert(*base).second);
    heap.validate();
  }
  EXPECT_EQ(given_back.size(), 2u);
  EXPECT_FALSE(given_back.contains(held));
  EXPECT_EQ(heap.region_count(), 1u);
  EXPECT_EQ(heap.free_slots(), 1u);
  EXPECT_FALSE(heap.owns(*given_back.begin()));
  EXPECT_EQ(heap.put(held), Put::freed);
  EXPECT_EQ(heap.remove_idle_region(), held);
  EXPECT_EQ(heap.take(), std::nullopt);
  heap.add_region(kBase);
  EXPECT_EQ(heap.take(), kBase);
}

TEST(SmallHeap, refuses_sizes_and_regions_that_cannot_be) {
  for (const std::uint64_t slot : {0ull, 3ull, 255ull, 257ull}) {
    EXPECT_THROW(SmallHeap(slot, 65536), InvalidArgument) << slot;
  }
  EXPECT_THROW(SmallHeap(256, 0), InvalidArgument);
  EXPECT_THROW(SmallHeap(256, 255), InvalidArgument);
  EXPECT_THROW(SmallHeap(256, 257), InvalidArgument);
  EXPECT_THROW(SmallHeap(1, 1ull << 31), InvalidArgument);
  SmallHeap heap(256, 1024);
  heap.add_region(kBase);
  const std::vector<std::uint64_t> impossible = {
      0, 1, kBase + 1, kBase, kBase + 768, kBase - 768, 0xFFFF'FFFF'FFFF'FF00};
  for (const std::uint64_t base : impossible) {
    EXPECT_THROW(heap.add_region(base), InvalidArgument) << std::hex << base;
  }
  EXPECT_EQ(heap.region_count(), 1u);
  heap.add_region(kBase + 1024);
  heap.add_region(kBase - 1024);
  heap.add_region(0xFFFF'FFFF'FFFF'FC00);  // the last there can be
  heap.validate();
  EXPECT_EQ(heap.free_slots(), 16u);
}

// Regions by base, each with the set of its taken slots.
struct NaiveHeap {
  std::map<std::uint64_t, std::set<std::uint64_t>> regions;

  std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (const auto& [base, slots] : regions) sum += slots.size();
    return sum;
  }
};

class HeapProgram {
 public:
  HeapProgram(std::uint64_t seed, std::uint64_t slot, std::uint64_t slots)
      : random_(seed), slot_(slot), region_(slot * slots), slots_(slots), heap_(slot, region_) {}

  void run(int steps) {
    for (int step = 1; step <= steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      act(random_() % 100);
      ASSERT_EQ(heap_.taken_slots(), naive_.taken());
      ASSERT_EQ(heap_.free_slots(), naive_.regions.size() * slots_ - naive_.taken());
      if (step % 64 == 0) heap_.validate();
    }
  }

 private:
  void act(std::uint64_t choice) {
    if (choice < 50) return take();
    if (choice < 90) return put_taken();
    if (choice < 95) return put_anything();
    if (choice < 97) return remove_region();
    add_region();
  }
  void add_region() {
    const std::uint64_t base = (random_() % 64 + 1) * region_ / 2 / slot_ * slot_;
    bool overlaps = base == 0;
    for (const auto& [other, slots] : naive_.regions) {
      overlaps |= base < other + region_ && other < base + region_;
    }
    if (overlaps) {
      ASSERT_THROW(heap_.add_region(base), InvalidArgument);
    } else {
      heap_.add_region(base);
      naive_.regions[base];
    }
  }
  void remove_region() {
    const auto base = heap_.remove_idle_region();
    const auto idle = std::ranges::find_if(
        naive_.regions, [](const auto& region) { return region.second.empty(); });
    ASSERT_EQ(base.has_value(), idle != naive_.regions.end());
    if (!base) return;
    ASSERT_TRUE(naive_.regions.contains(*base) && naive_.regions[*base].empty());
    naive_.regions.erase(*base);
  }
  void take() {
    const bool has_free = naive_.taken() < naive_.regions.size() * slots_;
    const auto address = heap_.take();
    ASSERT_EQ(address.has_value(), has_free);
    if (!address) return;
    auto region = naive_.regions.upper_bound(*address);
    ASSERT_NE(region, naive_.regions.begin());
    --region;
    ASSERT_LE(*address + slot_, region->first + region_);
    ASSERT_EQ((*address - region->first) % slot_, 0u);
    ASSERT_TRUE(region->second.insert(*address).second) << "taken twice";
    taken_.push_back(*address);
  }
  void put_taken() {
    if (taken_.empty()) return;
    put(taken_[random_() % taken_.size()]);
  }
  void put_anything() { put(random_() % (region_ * 40)); }
  void put(std::uint64_t address) {
    const Put expected = naive_put(address);
    ASSERT_EQ(heap_.owns(address), expected != Put::not_ours);
    ASSERT_EQ(heap_.is_taken(address), expected == Put::freed);
    ASSERT_EQ(heap_.put(address), expected) << address;
    if (expected == Put::freed) std::erase(taken_, address);
  }
  Put naive_put(std::uint64_t address) {
    for (auto& [base, slots] : naive_.regions) {
      if (address < base || address >= base + region_) continue;
      if ((address - base) % slot_ != 0) return Put::inside;
      return slots.erase(address) == 1 ? Put::freed : Put::not_taken;
    }
    return Put::not_ours;
  }

  std::mt19937_64 random_;
  std::uint64_t slot_;
  std::uint64_t region_;
  std::uint64_t slots_;
  SmallHeap heap_;
  NaiveHeap naive_;
  std::vector<std::uint64_t> taken_;
};

TEST(SmallHeap, does_what_plain_sets_do) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    HeapProgram program(seed, seed % 2 == 0 ? 8 : 256, seed % 3 == 0 ? 1 : 12);
    ASSERT_NO_FATAL_FAILURE(program.run(10'000));
  }
}

}  // namespace
}  // namespace strandline::alloc
