// SPDX-License-Identifier: Apache-2.0
// Settings strings on an allocator that runs: for good, for a scope, and when they are wrong.
#include "strandline/alloc/settings_scope.h"

#include <gtest/gtest.h>

#include "strandline/device/sim/machine.h"

namespace strandline::alloc {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class SettingsOfAllocator : public testing::TestWithParam<Decisions> {
 protected:
  static bool is_ours() { return GetParam() == Decisions::ours; }

  std::uint64_t block_of(std::uint64_t bytes) {
    const Buffer buffer = allocator_.malloc(bytes);
    const std::uint64_t size = allocator_.size(buffer);
    allocator_.free(buffer);
    return size;
  }

  sim::Machine machine_;
  SegmentAllocator allocator_{machine_.device(), {.decisions = GetParam()}};
};

TEST_P(SettingsOfAllocator, take_effect_at_once) {
  configure(allocator_, "roundup_power2_divisions:4");
  EXPECT_EQ(block_of(8500), 10240u);
  configure(allocator_, "roundup_power2_divisions:8");
  EXPECT_EQ(block_of(8500), 9216u);
}

TEST_P(SettingsOfAllocator, D17_keys_not_named_stay) {
  configure(allocator_, "max_split_size_mb:64");
  configure(allocator_, "garbage_collection_threshold:0.5");
  EXPECT_EQ(allocator_.settings().garbage_collection_threshold, 0.5);
  EXPECT_EQ(allocator_.settings().max_split_bytes,
            is_ours() ? 64 * kMiB : SegmentSettings::kUnlimited);
}

TEST_P(SettingsOfAllocator, D17_a_bad_string_changes_nothing) {
  EXPECT_THROW(configure(allocator_, "roundup_power2_divisions:8,max_split_size_mb:5"),
               SettingsError);
  EXPECT_EQ(allocator_.settings().roundup_power2_divisions[0], is_ours() ? 0u : 8u);
}

TEST_P(SettingsOfAllocator, another_backend_is_refused) {
  EXPECT_THROW(configure(allocator_, "backend:cudaMallocAsync"), InvalidArgument);
  EXPECT_NO_THROW(configure(allocator_, "backend:native"));
}

TEST_P(SettingsOfAllocator, the_fraction_acts_at_once_where_decisions_are_ours) {
  configure(allocator_, "per_process_memory_fraction:0.5");
  EXPECT_EQ(allocator_.memory_fraction(), is_ours() ? 0.5 : 1.0);
}

INSTANTIATE_TEST_SUITE_P(Both, SettingsOfAllocator,
                         testing::Values(Decisions::ours, Decisions::pytorch), [](const auto& one) {
                           return one.param == Decisions::ours ? "ours" : "pytorch";
                         });

TEST(SettingsScope, puts_back_what_it_named_and_nothing_else) {
  sim::Machine machine;
  SegmentAllocator allocator(machine.device());
  configure(allocator, "max_split_size_mb:64,per_process_memory_fraction:0.75");
  {
    const SettingsScope scope(allocator, "max_split_size_mb:200,per_process_memory_fraction:0.5");
    EXPECT_EQ(allocator.settings().max_split_bytes, 200 * kMiB);
    EXPECT_EQ(allocator.memory_fraction(), 0.5);
    configure(allocator, "garbage_collection_threshold:0.5");
    const SettingsScope inner(allocator, "max_split_size_mb:default");
    EXPECT_EQ(allocator.settings().max_split_bytes, SegmentSettings::kUnlimited);
  }
  EXPECT_EQ(allocator.settings().max_split_bytes, 64 * kMiB);
  EXPECT_EQ(allocator.memory_fraction(), 0.75);
  EXPECT_EQ(allocator.settings().garbage_collection_threshold, 0.5);
}

TEST(SettingsScope, of_a_bad_string_does_not_begin) {
  sim::Machine machine;
  SegmentAllocator allocator(machine.device());
  const SegmentSettings before = allocator.settings();
  EXPECT_THROW(SettingsScope(allocator, "max_split_size_mb:64,no_such_key:1"), SettingsError);
  EXPECT_EQ(allocator.settings(), before);
}

}  // namespace
}  // namespace strandline::alloc
