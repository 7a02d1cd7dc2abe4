// SPDX-License-Identifier: Apache-2.0
// The order in which PyTorch visits streams and pools. What is expected was shown by its own
// tables: orders of streams were seen on PyTorch 2.15.0 itself, by the events it records for the
// uses of a block (../shared/tools/torch_oracle); the sums are of all orders that the sets of its
// header flat_hash_map.h went through in the same random programs.
#include "alloc/segment/visit_order.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strandline::alloc {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

using Ordinals = std::vector<std::uint64_t>;

struct Seen {
  Ordinals inserted;
  Ordinals visited;
};

TEST(VisitOrder, of_the_streams_of_a_block_is_what_pytorch_shows) {
  const std::vector<Seen> all = {{{1, 3}, {3, 1}},
                                 {{5, 2}, {5, 2}},
                                 {{2, 3}, {3, 2}},
                                 {{1, 3, 5}, {5, 3, 1}},
                                 {{3, 2, 4, 1}, {4, 3, 2, 1}},
                                 {{3, 5, 6, 4}, {5, 4, 3, 6}},
                                 {{5, 1, 2, 6}, {5, 2, 6, 1}},
                                 {{6, 2, 5, 3, 1}, {5, 3, 2, 6, 1}},
                                 {{2, 3, 4, 1, 5, 6}, {5, 4, 3, 2, 6, 1}}};
  for (const Seen& seen : all) {
    VisitOrder order(VisitOrder::stream_hash);
    for (const std::uint64_t stream : seen.inserted) order.insert(stream);
    EXPECT_THAT(order.ordinals(), ElementsAreArray(seen.visited));
  }
}

// Of all orders of a random program that inserts and erases.
std::uint64_t sum_of_orders(VisitOrder::Hash hash, std::uint32_t range) {
  VisitOrder order(hash);
  std::mt19937 random;
  std::uint64_t sum = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t ordinal = random() % range;
    if (random() % 10 < 6) {
      order.insert(ordinal);
    } else {
      order.erase(ordinal);
    }
    for (const std::uint64_t one : order.ordinals()) sum = sum * 31 + one + 1;
    sum *= 31;
  }
  return sum;
}

TEST(VisitOrder, is_that_of_its_tables_however_they_came_about) {
  EXPECT_EQ(sum_of_orders(VisitOrder::stream_hash, 33), 9733695715318479507u);
  EXPECT_EQ(sum_of_orders(VisitOrder::stream_hash, 6), 6151936668653924559u);
  EXPECT_EQ(sum_of_orders(VisitOrder::pool_hash, 100), 4429816027780765649u);
  const auto colliding = [](std::uint64_t ordinal) {
    return ordinal % 2 != 0 ? ordinal / 2 : ordinal * 0x100000001u;
  };
  EXPECT_EQ(sum_of_orders(colliding, 200), 14600731583692337368u);
}

TEST(VisitOrder, holds_each_once) {
  VisitOrder order(VisitOrder::pool_hash);
  EXPECT_THAT(order.ordinals(), IsEmpty());
  order.erase(7);
  for (int i = 0; i < 3; ++i) order.insert(7);
  EXPECT_TRUE(order.contains(7));
  EXPECT_THAT(order.ordinals(), ElementsAre(7));
  order.erase(7);
  EXPECT_FALSE(order.contains(7));
  EXPECT_THAT(order.ordinals(), IsEmpty());
}

}  // namespace
}  // namespace strandline::alloc
