// SPDX-License-Identifier: Apache-2.0
// The cache of whole buffers: its rules one by one, and long random programs beside a list that is
// searched from end to end.
#include "strandline/alloc/buffer_cache.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

using Entry = BufferCache::Entry;
constexpr std::uint64_t kPage = 4096;

BufferCache cache_of(const std::vector<Entry>& entries) {
  BufferCache cache(kPage);
  cache.reserve(entries.size());
  for (const Entry& entry : entries) EXPECT_TRUE(cache.try_put(entry));
  cache.validate();
  return cache;
}

std::vector<std::uint64_t> handles_by_age(const BufferCache& cache) {
  std::vector<std::uint64_t> handles;
  cache.for_each([&](const Entry& entry) { handles.push_back(entry.handle); });
  return handles;
}

TEST(BufferCache, serves_below_twice_the_request_and_below_two_more_pages) {
  struct Case {
    std::uint64_t size;
    std::uint64_t wanted;
    bool serves;
  };
  const std::vector<Case> cases = {
      {1, 1, true},
      {2, 1, false},
      {99, 100, false},
      {100, 100, true},
      {199, 100, true},
      {200, 100, false},
      {8191, 4096, true},
      {8192, 4096, false},
      {16383, 8192, true},
      {16384, 8192, false},
      {17191, 9000, true},
      {17192, 9000, false},
      {1 << 30, 1 << 30, true},
      {(1 << 30) + 8191, 1 << 30, true},
      {(1 << 30) + 8192, 1 << 30, false},
      {UINT64_MAX, UINT64_MAX, true},
      {UINT64_MAX, UINT64_MAX - 8191, true},
      {UINT64_MAX, UINT64_MAX - 8192, false},
      {UINT64_MAX, std::uint64_t{1} << 63, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.size << " for " << c.wanted);
    BufferCache cache = cache_of({{.handle = 7, .size = c.size}});
    EXPECT_EQ(cache.serves(c.size, c.wanted), c.serves);
    const auto got = cache.take(c.wanted);
    EXPECT_EQ(got.has_value(), c.serves);
    EXPECT_EQ(cache.count(), c.serves ? 0u : 1u);
    EXPECT_EQ(cache.bytes(), c.serves ? 0u : c.size);
    cache.validate();
  }
}

TEST(BufferCache, takes_the_smallest_that_fits) {
  BufferCache cache = cache_of({{1, 1500}, {2, 1100}, {3, 1200}, {4, 900}, {5, 1024}});
  EXPECT_EQ(cache.take(1000), (Entry{5, 1024}));
  EXPECT_EQ(cache.take(1000), (Entry{2, 1100}));
  EXPECT_EQ(cache.take(1000), (Entry{3, 1200}));
  EXPECT_EQ(cache.take(1000), (Entry{1, 1500}));
  EXPECT_EQ(cache.take(1000), std::nullopt);
  EXPECT_EQ(cache.take(900), (Entry{4, 900}));
  EXPECT_TRUE(cache.empty());
}

TEST(BufferCache, takes_the_one_freed_last_among_equals) {
  BufferCache cache = cache_of({{1, 64}, {2, 64}, {3, 64}});
  EXPECT_EQ(cache.take(64)->handle, 3u);
  EXPECT_TRUE(cache.try_put({4, 64}));
  EXPECT_EQ(cache.take(60)->handle, 4u);
  EXPECT_EQ(cache.take(60)->handle, 2u);
  EXPECT_EQ(cache.take(64)->handle, 1u);
}

TEST(BufferCache, lets_the_least_recently_freed_leave_first) {
  BufferCache cache = cache_of({{1, 300}, {2, 100}, {3, 300}, {4, 200}});
  EXPECT_EQ(cache.take(300)->handle, 3u);
  EXPECT_TRUE(cache.try_put({3, 300}));
  EXPECT_EQ(handles_by_age(cache), (std::vector<std::uint64_t>{1, 2, 4, 3}));
  for (const std::uint64_t handle : {1u, 2u, 4u, 3u}) {
    EXPECT_EQ(cache.take_oldest()->handle, handle);
    cache.validate();
  }
  EXPECT_EQ(cache.take_oldest(), std::nullopt);
}

TEST(BufferCache, trims_the_excess_and_no_more) {
  for (std::uint64_t excess : {0u, 1u, 100u, 101u, 300u, 301u, 599u, 600u, 601u}) {
    SCOPED_TRACE(excess);
    BufferCache cache = cache_of({{1, 100}, {2, 200}, {3, 300}});
    std::vector<std::uint64_t> left;
    std::uint64_t bytes = 0;
    const auto done = cache.trim(excess, [&](const Entry& entry) {
      EXPECT_LT(bytes, excess) << "one more than was needed";
      left.push_back(entry.handle);
      bytes += entry.size;
    });
    EXPECT_EQ(done.bytes, bytes);
    EXPECT_EQ(done.count, left.size());
    EXPECT_EQ(cache.bytes(), 600 - bytes);
    EXPECT_TRUE(bytes >= excess || cache.empty());
    EXPECT_TRUE(std::ranges::is_sorted(left));
  }
}

TEST(BufferCache, refuses_what_it_has_no_room_for_and_size_0) {
  BufferCache cache(kPage);
  EXPECT_FALSE(cache.try_put({1, 64}));
  cache.reserve(2);
  EXPECT_FALSE(cache.try_put({1, 0}));
  EXPECT_TRUE(cache.try_put({1, 64}));
  EXPECT_TRUE(cache.try_put({2, 64}));
  EXPECT_FALSE(cache.try_put({3, 64}));
  EXPECT_EQ(cache.bytes(), 128u);
  EXPECT_EQ(cache.take(0), std::nullopt);
  EXPECT_EQ(cache.take(64)->handle, 2u);
  EXPECT_TRUE(cache.try_put({3, 64}));
  cache.validate();
  EXPECT_THROW(BufferCache(0), InvalidArgument);
  EXPECT_THROW(cache.reserve(UINT32_MAX), InvalidArgument);
  EXPECT_EQ(handles_by_age(cache), (std::vector<std::uint64_t>{1, 3}));
}

// The rules read aloud, over a plain list in the order of frees.
class NaiveCache {
 public:
  void put(const Entry& entry) { entries_.push_back(entry); }
  std::optional<Entry> take(std::uint64_t wanted) {
    auto best = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (at->size < wanted) continue;
      const std::uint64_t waste = at->size - wanted;
      if (waste >= wanted || waste >= 2 * kPage) continue;
      if (best == entries_.end() || at->size <= best->size) best = at;
    }
    return remove(best);
  }
  std::optional<Entry> take_oldest() { return remove(entries_.begin()); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::optional<Entry> remove(std::vector<Entry>::iterator at) {
    if (at == entries_.end()) return std::nullopt;
    const Entry entry = *at;
    entries_.erase(at);
    return entry;
  }
  std::vector<Entry> entries_;
};

using Sizes = std::uint64_t (*)(std::mt19937_64&);
struct Distribution {
  const char* name;
  Sizes draw;
};
std::uint64_t any_bits(std::mt19937_64& random) {
  return std::max<std::uint64_t>(random() >> (random() % 64), 1);
}
const std::vector<Distribution> kDistributions = {
    {"bytes", [](std::mt19937_64& r) { return r() % 300 + 1; }},
    {"few sizes", [](std::mt19937_64& r) { return (r() % 6 + 1) * 640; }},
    {"pages", [](std::mt19937_64& r) { return (r() % 600 + 1) * kPage; }},
    {"one class", [](std::mt19937_64& r) { return (1 << 20) + r() % (1 << 17); }},
    {"neighbours of powers",
     [](std::mt19937_64& r) { return (std::uint64_t{2} << (r() % 62)) + r() % 3 - 1; }},
    {"all magnitudes", any_bits},
};

void expect_same(const BufferCache& cache, const NaiveCache& naive) {
  cache.validate();
  std::vector<Entry> entries;
  cache.for_each([&](const Entry& entry) { entries.push_back(entry); });
  ASSERT_EQ(entries, naive.entries());
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.size;
  ASSERT_EQ(cache.bytes(), bytes);
  ASSERT_EQ(cache.count(), entries.size());
}

void run_beside_model(const Distribution& sizes, std::uint64_t seed, std::size_t most) {
  SCOPED_TRACE(testing::Message() << sizes.name << ", seed " << seed << ", at most " << most);
  std::mt19937_64 random(seed);
  BufferCache cache(kPage);
  NaiveCache naive;
  for (std::uint64_t step = 1; step <= 6000; ++step) {
    const std::uint64_t choice = random() % 16;
    if (choice < 8 && cache.count() < most) {
      const Entry entry{.handle = step, .size = sizes.draw(random)};
      cache.reserve(cache.count() + 1);
      ASSERT_TRUE(cache.try_put(entry));
      naive.put(entry);
    } else if (choice < 15) {
      const std::uint64_t wanted = sizes.draw(random);
      ASSERT_EQ(cache.take(wanted), naive.take(wanted)) << "step " << step << ", " << wanted;
    } else {
      ASSERT_EQ(cache.take_oldest(), naive.take_oldest()) << "step " << step;
    }
    if (step % 64 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(expect_same(cache, naive)) << "step " << step;
  }
}

TEST(BufferCache, does_what_a_plain_list_does) {
  for (const Distribution& sizes : kDistributions) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      ASSERT_NO_FATAL_FAILURE(run_beside_model(sizes, seed, seed % 2 == 0 ? 12 : 300));
    }
  }
}

}  // namespace
}  // namespace strandline::alloc
