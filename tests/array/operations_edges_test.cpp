// SPDX-License-Identifier: Apache-2.0
// Numbers at the ends of their types, for every kernel: where C++ has no answer, ours must have
// one. The sanitizers' preset runs these; the values of floats are compared with NumPy's in
// tests/python/test_array_edges.py.
#include <cmath>
#include <limits>
#include <map>

#include "support.h"

namespace strandline::array {
namespace {

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
std::vector<T> ends() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T{0}, T{1}, T{2}, T{7}, Limits::max(), Limits::lowest()};
  if (std::is_signed_v<T>) values.insert(values.end(), {static_cast<T>(-1), static_cast<T>(-7)});
  return values;
}

/// Each value beside each.
template <typename T>
std::pair<std::vector<T>, std::vector<T>> pairs(const std::vector<T>& values) {
  std::pair<std::vector<T>, std::vector<T>> result;
  for (const T a : values) {
    for (const T b : values) {
      result.first.push_back(a);
      result.second.push_back(b);
    }
  }
  return result;
}

template <typename T>
Array line(const std::vector<T>& values) {
  return Array(values.data(), {static_cast<std::int64_t>(values.size())}, kDtypeOf<T>);
}

// Python's division of numbers that are far from the ends of int64.
std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : static_cast<std::int64_t>(std::floor(static_cast<long double>(a) / b));
}

template <typename T>
class IntegerEnds : public testing::Test {};
using NarrowIntegers = testing::Types<std::uint8_t, std::uint32_t, std::int32_t>;
TYPED_TEST_SUITE(IntegerEnds, NarrowIntegers);

TYPED_TEST(IntegerEnds, AreCountedWideAndCutToTheirWidth) {
  using T = TypeParam;
  using Wide = std::int64_t;
  using Binary = Array (*)(const Array&, const Array&);
  const std::map<std::string, std::pair<Binary, Wide (*)(Wide, Wide)>> functions = {
      {"add", {add, [](Wide a, Wide b) { return a + b; }}},
      {"subtract", {subtract, [](Wide a, Wide b) { return a - b; }}},
      {"multiply",
       {multiply,
        [](Wide a, Wide b) {
          return static_cast<Wide>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        }}},
      {"floor_divide", {floor_divide, floor_of}},
      {"remainder",
       {remainder, [](Wide a, Wide b) { return b == 0 ? 0 : a - b * floor_of(a, b); }}},
      {"maximum", {maximum, [](Wide a, Wide b) { return std::max(a, b); }}},
      {"minimum", {minimum, [](Wide a, Wide b) { return std::min(a, b); }}},
      {"less", {less, [](Wide a, Wide b) { return Wide{a < b}; }}},
      {"equal", {equal, [](Wide a, Wide b) { return Wide{a == b}; }}}};
  const auto [left, right] = pairs(ends<T>());
  for (const auto& [name, both] : functions) {
    const auto got = both.first(line(left), line(right)).template values<Wide>();
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(got[i], Wide{static_cast<T>(both.second(left[i], right[i]))})
          << name << " of " << Wide{left[i]} << " and " << Wide{right[i]};
    }
  }
  const auto values = ends<T>();
  const auto negated = negative(line(values)).template values<T>();
  const auto sizes = abs(line(values)).template values<T>();
  const auto squares = square(line(values)).template values<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Wide value = values[i];
    EXPECT_EQ(negated[i], static_cast<T>(-value));
    EXPECT_EQ(sizes[i], static_cast<T>(value < 0 ? -value : value));
    EXPECT_EQ(squares[i], static_cast<T>(static_cast<std::uint64_t>(value) *
                                         static_cast<std::uint64_t>(value)));
  }
}

TEST(IntegerEnds, Of64BitsWrap) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Array a({kMost, kLeast, kLeast, kLeast, std::int64_t{5}});
  const Array b({std::int64_t{1}, std::int64_t{-1}, std::int64_t{-7}, kMost, std::int64_t{0}});
  const auto values = [](const Array& x) { return x.values<std::int64_t>(); };
  EXPECT_THAT(values(a + b), ElementsAre(kLeast, kMost, kMost - 6, -1, 5));
  EXPECT_THAT(values(a - b), ElementsAre(kMost - 1, kLeast + 1, kLeast + 7, 1, 5));
  EXPECT_THAT(values(a * b), ElementsAre(kMost, kLeast, kLeast, kLeast, 0));
  EXPECT_THAT(values(floor_divide(a, b)), ElementsAre(kMost, kLeast, 1317624576693539401, -2, 0));
  EXPECT_THAT(values(remainder(a, b)), ElementsAre(0, 0, -1, kMost - 1, 0));
  EXPECT_THAT(values(power(a, Array(3))), ElementsAre(kMost, 0, 0, 0, 125));
  EXPECT_THAT(values(sum(a)), ElementsAre(4));
  EXPECT_THAT(values(matmul(a, b)), ElementsAre(-1));
}

TEST(FloatEnds, BecomeTheNearestIntegerThereIs) {
  const std::vector<double> numbers = {kNaN, kInfinity, -kInfinity, 1e20, -1e20, 3e9, -3e9, -0.9};
  for (const Dtype from : {Dtype::float64, Dtype::float32, Dtype::bfloat16}) {
    const Array x = astype(line(numbers), from);
    const auto as = [&](Dtype dtype) { return astype(x, dtype).values<double>(); };
    EXPECT_THAT(as(Dtype::uint8), ElementsAre(0, 255, 0, 255, 0, 255, 0, 0));
    EXPECT_THAT(as(Dtype::int32),
                ElementsAre(0, 0x1p31 - 1, -0x1p31, 0x1p31 - 1, -0x1p31, 0x1p31 - 1, -0x1p31, 0));
    const auto uint32 = as(Dtype::uint32);
    EXPECT_EQ(uint32[1], 0x1p32 - 1);
    EXPECT_EQ(uint32[2], 0);
    const auto int64 = astype(x, Dtype::int64).values<std::int64_t>();
    EXPECT_EQ(int64[0], 0);
    EXPECT_EQ(int64[1], std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(int64[4], std::numeric_limits<std::int64_t>::min());
  }
}

// What real functions answer is NumPy's to say; here each is asked for what C++ leaves open.
TEST(FloatEnds, GoThroughEveryFunction) {
  const std::vector<double> numbers = {kNaN, kInfinity, -kInfinity, 0.0, -0.0, 1e300, 5e-324, -2.5};
  const auto [left, right] = pairs(numbers);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    const Array x = astype(line(numbers), dtype);
    for (const auto function : {negative, abs, sign, square, exp, log, sqrt, rsqrt, tanh, sigmoid,
                                erf, erfinv, sin, cos, floor, ceil, round}) {
      EXPECT_TRUE(std::isnan(function(x).values<double>()[0]));
    }
    const Array a = astype(line(left), dtype);
    const Array b = astype(line(right), dtype);
    for (const auto function :
         {add, subtract, multiply, divide, floor_divide, remainder, maximum, minimum, logaddexp}) {
      const auto made = function(a, b).values<double>();
      for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_TRUE(std::isnan(made[i]) || !(std::isnan(left[i]) || std::isnan(right[i]))) << i;
      }
    }
    EXPECT_EQ(power(a, b).values<double>().size(), left.size());
    EXPECT_TRUE(std::isnan(max(x).item<double>()));
    EXPECT_EQ(argmin(x).item<std::uint32_t>(), 0U);
    EXPECT_TRUE(std::isnan(logsumexp(x).item<double>()));
  }
}

}  // namespace
}  // namespace strandline::array
