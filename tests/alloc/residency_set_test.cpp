// SPDX-License-Identifier: Apache-2.0
// What is wired under which limit and in which set: each rule, and random programs beside a model
// that keeps one list and adds everything up anew each time.
#include "strandline/alloc/residency_set.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

using Place = ResidencySet::Place;
using Change = ResidencySet::Change;
using Set = ResidencySet::Set;
constexpr std::uint64_t kMiB = 1 << 20;

TEST(ResidencySet, wires_nothing_at_a_limit_of_0) {
  ResidencySet set;
  for (std::uint64_t handle = 1; handle <= 4; ++handle) {
    EXPECT_EQ(set.insert(handle, 4 * kMiB), Place::waiting);
  }
  EXPECT_EQ(set.wired_bytes(), 0u);
  EXPECT_EQ(set.waiting_bytes(), 16 * kMiB);
  EXPECT_TRUE(set.sets().empty());
  EXPECT_EQ(set.erase(2), Place::waiting);
  EXPECT_EQ(set.waiting_count(), 3u);
  set.validate();
}

TEST(ResidencySet, wires_up_to_the_limit_exactly_and_never_above) {
  ResidencySet set({.limit_bytes = 8 * kMiB});
  EXPECT_EQ(set.insert(1, 4 * kMiB), Place::wired);
  EXPECT_EQ(set.insert(2, 4 * kMiB + 1), Place::waiting);
  EXPECT_EQ(set.insert(3, 4 * kMiB), Place::wired);
  EXPECT_EQ(set.insert(4, 1), Place::waiting);
  EXPECT_EQ(set.wired_bytes(), 8 * kMiB);
  set.validate();
}

TEST(ResidencySet, promotes_nobody_when_a_wired_buffer_leaves) {
  ResidencySet set({.limit_bytes = 4 * kMiB});
  set.insert(1, 4 * kMiB);
  set.insert(2, 4 * kMiB);
  EXPECT_EQ(set.erase(1), Place::wired);
  EXPECT_EQ(set.wired_bytes(), 0u);
  EXPECT_EQ(set.place_of(2), Place::waiting);
  EXPECT_EQ(set.place_of(1), std::nullopt);
  EXPECT_EQ(set.erase(1), std::nullopt);
  EXPECT_EQ(set.insert(3, kMiB), Place::wired);  // but what comes may use the room
}

TEST(ResidencySet, promotes_the_oldest_first_when_the_limit_rises_each_that_fits) {
  ResidencySet set;
  set.insert(9, 3 * kMiB);
  set.insert(1, 8 * kMiB);
  set.insert(5, 2 * kMiB);
  set.insert(2, kMiB);
  EXPECT_EQ(set.set_limit(6 * kMiB),
            (std::vector<Change>{{9, Place::wired}, {5, Place::wired}, {2, Place::wired}}));
  EXPECT_EQ(set.wired_bytes(), 6 * kMiB);
  EXPECT_TRUE(set.set_limit(13 * kMiB).empty());
  EXPECT_EQ(set.set_limit(14 * kMiB), (std::vector<Change>{{1, Place::wired}}));
  EXPECT_TRUE(set.set_limit(14 * kMiB).empty());
  set.validate();
}

TEST(ResidencySet, unwires_the_newest_first_when_the_limit_falls_until_under_it) {
  ResidencySet set({.limit_bytes = 10 * kMiB});
  set.insert(1, 4 * kMiB);
  set.insert(2, 3 * kMiB);
  set.insert(3, 2 * kMiB);
  EXPECT_TRUE(set.set_limit(9 * kMiB).empty());
  EXPECT_EQ(set.set_limit(5 * kMiB),
            (std::vector<Change>{{3, Place::waiting}, {2, Place::waiting}}));
  EXPECT_EQ(set.wired_bytes(), 4 * kMiB);
  EXPECT_EQ(set.set_limit(0), (std::vector<Change>{{1, Place::waiting}}));
  EXPECT_EQ(set.set_limit(10 * kMiB),
            (std::vector<Change>{{1, Place::wired}, {2, Place::wired}, {3, Place::wired}}));
  set.validate();
}

TEST(ResidencySet, counts_exactly_over_many_cycles) {
  ResidencySet set({.limit_bytes = 64 * kMiB, .max_set_bytes = 8 * kMiB});
  set.insert(1, kMiB);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(set.insert(2, 8 * kMiB), Place::wired);
    EXPECT_EQ(set.wired_bytes(), 9 * kMiB);
    EXPECT_EQ(set.erase(2), Place::wired);
    EXPECT_EQ(set.wired_bytes(), kMiB);
    EXPECT_EQ(set.sets().size(), 2u);  // an emptied set is used again
  }
  set.validate();
}

TEST(ResidencySet, spreads_over_capped_sets_first_fit) {
  ResidencySet set({.limit_bytes = 128 * kMiB, .max_set_bytes = 8 * kMiB});
  for (std::uint64_t handle = 1; handle <= 8; ++handle) set.insert(handle, 5 * kMiB);
  EXPECT_EQ(set.sets(), std::vector<Set>(8, {.bytes = 5 * kMiB, .count = 1}));
  set.insert(9, 3 * kMiB);
  set.insert(10, kMiB);
  EXPECT_EQ(set.set_of(9), 0u);
  EXPECT_EQ(set.set_of(10), 1u);
  EXPECT_EQ(set.set_of(11), std::nullopt);
  set.erase(3);
  set.insert(12, 8 * kMiB);
  EXPECT_EQ(set.set_of(12), 2u);
  set.validate();
}

TEST(ResidencySet, gives_a_buffer_above_the_cap_a_set_of_its_own) {
  ResidencySet set({.limit_bytes = 128 * kMiB, .max_set_bytes = 4 * kMiB});
  set.insert(1, kMiB);
  EXPECT_EQ(set.insert(2, 32 * kMiB), Place::wired);
  EXPECT_EQ(set.set_of(2), 1u);
  set.insert(3, kMiB);
  EXPECT_EQ(set.set_of(3), 0u);
  set.erase(1);
  set.erase(3);
  set.insert(4, 16 * kMiB);
  EXPECT_EQ(set.set_of(4), 0u);
}

TEST(ResidencySet, puts_into_the_emptiest_when_no_further_set_may_be) {
  ResidencySet set({.limit_bytes = 256 * kMiB, .max_set_bytes = 2 * kMiB});
  for (std::uint64_t handle = 1; handle <= 64; ++handle) {
    EXPECT_EQ(set.insert(handle, 2 * kMiB), Place::wired);
  }
  EXPECT_EQ(set.sets(), std::vector<Set>(32, {.bytes = 4 * kMiB, .count = 2}));
  set.validate();
}

TEST(ResidencySet, keeps_all_in_one_set_without_a_cap) {
  ResidencySet set({.limit_bytes = 128 * kMiB});
  for (std::uint64_t handle = 1; handle <= 16; ++handle) set.insert(handle, 4 * kMiB);
  EXPECT_EQ(set.sets(), (std::vector<Set>{{.bytes = 64 * kMiB, .count = 16}}));
}

TEST(ResidencySet, caps_a_set_at_a_share_of_the_working_set) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_EQ(ResidencySet::set_cap(100 * kGiB), 5 * kGiB);
  EXPECT_EQ(ResidencySet::set_cap(100 * kGiB, 20), 20 * kGiB);
  EXPECT_EQ(ResidencySet::set_cap(kGiB), 64 * kMiB);
  EXPECT_EQ(ResidencySet::set_cap(1'999, 99), 64 * kMiB);
  for (const std::int64_t percent : {0, -1, 100, 101}) {
    EXPECT_EQ(ResidencySet::set_cap(100 * kGiB, percent), 0u) << percent;
  }
  EXPECT_EQ(ResidencySet::set_cap(UINT64_MAX, 50), UINT64_MAX / 2);
}

TEST(ResidencySet, lets_a_buffer_wait_that_the_device_refused) {
  ResidencySet set({.limit_bytes = 8 * kMiB});
  set.insert(1, 4 * kMiB);
  EXPECT_TRUE(set.refuse(1));
  EXPECT_FALSE(set.refuse(1));
  EXPECT_FALSE(set.refuse(2));
  EXPECT_EQ(set.wired_bytes(), 0u);
  EXPECT_EQ(set.set_limit(9 * kMiB), (std::vector<Change>{{1, Place::wired}}));
  set.validate();
}

TEST(ResidencySet, refuses_what_it_knows_and_what_is_nothing) {
  ResidencySet set({.limit_bytes = kMiB});
  set.insert(1, 1);
  EXPECT_THROW(set.insert(1, 1), InvalidArgument);
  EXPECT_THROW(set.insert(0, 1), InvalidArgument);
  EXPECT_THROW(set.insert(2, 0), InvalidArgument);
  EXPECT_THROW(ResidencySet({.max_sets = 0}), InvalidArgument);
  EXPECT_EQ(set.wired_count() + set.waiting_count(), 1u);
  EXPECT_EQ(set.insert(2, UINT64_MAX - 1), Place::waiting);
  set.validate();
}

// One list in the order of arrival; every sum is taken anew.
class NaiveResidency {
 public:
  struct Buffer {
    std::uint64_t handle = 0;
    std::uint64_t size = 0;
    std::optional<std::size_t> set{};  // while wired
  };

  explicit NaiveResidency(const ResidencyOptions& given) : options(given) {}

  std::uint64_t wired() const {
    std::uint64_t sum = 0;
    for (const Buffer& buffer : buffers) sum += buffer.set ? buffer.size : 0;
    return sum;
  }
  std::vector<Set> sums() const {
    std::vector<Set> sums(set_count);
    for (const Buffer& buffer : buffers) {
      if (!buffer.set) continue;
      sums[*buffer.set].bytes += buffer.size;
      sums[*buffer.set].count += 1;
    }
    return sums;
  }
  bool wire_if_fits(Buffer& buffer) {
    if (wired() + buffer.size > options.limit_bytes) return false;
    const std::vector<Set> all = sums();
    for (std::size_t i = 0; i < all.size() && !buffer.set; ++i) {
      const bool room = all[i].bytes + buffer.size <= options.max_set_bytes;
      if (options.max_set_bytes == 0 || all[i].count == 0 || room) buffer.set = i;
    }
    if (!buffer.set && set_count < options.max_sets) buffer.set = set_count++;
    if (!buffer.set) {
      std::size_t emptiest = 0;
      for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].bytes < all[emptiest].bytes) emptiest = i;
      }
      buffer.set = emptiest;
    }
    return true;
  }
  std::vector<Change> set_limit(std::uint64_t bytes) {
    std::vector<Change> changes;
    const bool rises = bytes > options.limit_bytes;
    options.limit_bytes = bytes;
    for (Buffer& buffer : buffers) {
      if (rises && !buffer.set && wire_if_fits(buffer)) {
        changes.push_back({buffer.handle, Place::wired});
      }
    }
    for (auto at = buffers.rbegin(); at != buffers.rend(); ++at) {
      if (wired() <= bytes || !at->set) continue;
      at->set.reset();
      changes.push_back({at->handle, Place::waiting});
    }
    return changes;
  }
  Buffer* find(std::uint64_t handle) {
    const auto at = std::ranges::find(buffers, handle, &Buffer::handle);
    return at == buffers.end() ? nullptr : &*at;
  }

  ResidencyOptions options;
  std::vector<Buffer> buffers;
  std::size_t set_count = 0;
};

class ResidencyProgram {
 public:
  ResidencyProgram(std::uint64_t seed, const ResidencyOptions& options)
      : random_(seed), set_(options), naive_(options) {}

  void run(int steps) {
    for (int step = 1; step <= steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      act(random_() % 100);
      compare();
      if (step % 64 == 0) set_.validate();
    }
  }

 private:
  static Place place(bool wired) { return wired ? Place::wired : Place::waiting; }

  void act(std::uint64_t choice) {
    const std::uint64_t handle = random_() % 60 + 1;
    NaiveResidency::Buffer* known = naive_.find(handle);
    if (choice < 50) return insert(handle, known != nullptr);
    if (choice < 85) return erase(handle, known);
    if (choice < 90) {
      ASSERT_EQ(set_.refuse(handle), known != nullptr && known->set.has_value());
      if (known != nullptr) known->set.reset();
      return;
    }
    if (choice < 98) {
      const std::uint64_t limit = random_() % 2000;
      ASSERT_EQ(set_.set_limit(limit), naive_.set_limit(limit));
      return;
    }
    naive_.options.max_set_bytes = random_() % 3 * 100;
    set_.set_max_set_bytes(naive_.options.max_set_bytes);
  }
  void insert(std::uint64_t handle, bool is_known) {
    const std::uint64_t size = random_() % 200 + 1;
    if (is_known) {
      ASSERT_THROW(set_.insert(handle, size), InvalidArgument);
      return;
    }
    naive_.buffers.push_back({.handle = handle, .size = size});
    ASSERT_EQ(set_.insert(handle, size), place(naive_.wire_if_fits(naive_.buffers.back())));
  }
  void erase(std::uint64_t handle, const NaiveResidency::Buffer* known) {
    std::optional<Place> expected;
    if (known != nullptr) expected = place(known->set.has_value());
    ASSERT_EQ(set_.erase(handle), expected);
    std::erase_if(naive_.buffers, [&](const auto& buffer) { return buffer.handle == handle; });
  }
  void compare() {
    ASSERT_EQ(set_.wired_bytes(), naive_.wired());
    ASSERT_EQ(set_.sets(), naive_.sums());
    for (const NaiveResidency::Buffer& buffer : naive_.buffers) {
      ASSERT_EQ(set_.set_of(buffer.handle), buffer.set);
      ASSERT_EQ(set_.place_of(buffer.handle), place(buffer.set.has_value()));
    }
    ASSERT_EQ(set_.wired_count() + set_.waiting_count(), naive_.buffers.size());
  }

  std::mt19937_64 random_;
  ResidencySet set_;
  NaiveResidency naive_;
};

TEST(ResidencySet, does_what_one_list_does) {
  for (std::uint64_t seed = 1; seed <= 9; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ResidencyProgram program(seed, {.limit_bytes = 1000,
                                    .max_set_bytes = seed % 3 * 150,
                                    .max_sets = seed % 2 == 0 ? 4u : 32u});
    ASSERT_NO_FATAL_FAILURE(program.run(2'000));
  }
}

}  // namespace
}  // namespace strandline::alloc
