// SPDX-License-Identifier: Apache-2.0
// Checked arithmetic against arithmetic in 128 bits.
#include "strandline/core/checked.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/core/error.h"

namespace strandline {
namespace {

__extension__ using Wide = unsigned __int128;

std::optional<std::uint64_t> narrowed(Wide value) {
  if (value > UINT64_MAX) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

TEST(Checked, AgreesWithWideArithmeticOnRandomOperands) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100'000; ++i) {
    // Operands of every magnitude, so that about half of the results fit.
    const std::uint64_t a = random() >> (random() % 64);
    const std::uint64_t b = random() >> (random() % 64);
    ASSERT_EQ(try_add(a, b), narrowed(Wide(a) + b)) << a << " + " << b;
    ASSERT_EQ(try_multiply(a, b), narrowed(Wide(a) * b)) << a << " * " << b;
    if (b == 0) continue;
    ASSERT_EQ(try_round_up(a, b), narrowed((Wide(a) + b - 1) / b * b)) << a << " to " << b;
  }
}

TEST(Checked, HoldsAtTheEdgesOf64Bits) {
  EXPECT_EQ(try_add(UINT64_MAX, 0), UINT64_MAX);
  EXPECT_EQ(try_add(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(try_multiply(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(try_multiply(1ULL << 32, 1ULL << 32), std::nullopt);
  EXPECT_EQ(try_round_up(0, 512), 0U);
  EXPECT_EQ(try_round_up(1, 512), 512U);
  EXPECT_EQ(try_round_up(512, 512), 512U);
  EXPECT_EQ(try_round_up(UINT64_MAX, 512), std::nullopt);
  EXPECT_EQ(try_round_up(5, 0), std::nullopt);
}

TEST(Checked, ThrowsNamingFunctionAndOperands) {
  EXPECT_EQ(checked_add(2, 3), 5U);
  EXPECT_EQ(checked_multiply(2, 3), 6U);
  EXPECT_EQ(checked_round_up(5, 4), 8U);
  try {
    checked_add(UINT64_MAX, 2);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[checked_add] size exceeds 64 bits; got 18446744073709551615 and 2, expected a "
                 "result below 2^64");
  }
  EXPECT_THROW(checked_multiply(UINT64_MAX, 2), InvalidArgument);
  EXPECT_THROW(checked_round_up(UINT64_MAX, 512), InvalidArgument);
  try {
    checked_round_up(1, 0);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("unit of rounding; got 0"));
  }
}

}  // namespace
}  // namespace strandline
