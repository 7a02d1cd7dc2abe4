// SPDX-License-Identifier: Apache-2.0
// Operations against loops written out here. What NumPy says of them is asked in
// tests/python/test_array_operations.py.
#include <cmath>
#include <random>

#include "array/threefry.h"
#include "strandline/array/random.h"
#include "support.h"

namespace strandline::array {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Promotion, IsThatOfMlx) {
  EXPECT_EQ(promote(Dtype::uint32, Dtype::int32), Dtype::int64);
  EXPECT_EQ(promote(Dtype::uint8, Dtype::int32), Dtype::int32);
  EXPECT_EQ(promote(Dtype::float16, Dtype::bfloat16), Dtype::float32);
  EXPECT_EQ(promote(Dtype::int64, Dtype::float16), Dtype::float16);
  EXPECT_EQ(promote(Dtype::bool_, Dtype::uint8), Dtype::uint8);
  EXPECT_EQ((Array(1) / Array(2)).dtype(), Dtype::float32);
  EXPECT_EQ(sum(Array({true, true})).item<std::int32_t>(), 2);
}

TEST(HalfFloats, RoundToNearestEvenAndBackExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_float16(wide))));
      continue;
    }
    EXPECT_EQ(to_float16(wide).bits, half.bits);
    const BFloat16 brain{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(to_float(brain))) {
      EXPECT_EQ(to_bfloat16(to_float(brain)).bits, brain.bits);
    }
  }
  EXPECT_EQ(to_float(to_float16(2049.0F)), 2048.0F);  // halfway, to the even one
  EXPECT_EQ(to_float(to_float16(2051.0F)), 2052.0F);
  EXPECT_EQ(to_float(to_float16(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(to_float(to_float16(65520.0F))));
  EXPECT_EQ(to_float(to_float16(0x1.8p-24F)), 0x1p-23F);
}

TEST(Elementwise, TakesStridesAndBroadcastsWithoutCopies) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array x = reshape(arange(0, 12, 1, Dtype::float32), {3, 4});
  const Array column = reshape(arange(0, 3, 1, Dtype::float32), {3, 1});
  eval({x, column});
  const auto before = simulated.allocator->statistics().mallocs;
  const Array y = transpose(x) + transpose(column);
  eval({y});
  EXPECT_EQ(simulated.allocator->statistics().mallocs, before + 1);
  EXPECT_THAT(y.values<float>(), ElementsAre(0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13));
  EXPECT_TRUE(simulated.machine->findings().empty());
}

TEST(Elementwise, IntegersWrapAndDivideAsPythonDoes) {
  const Array big(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ((big + Array(1)).item<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  const Array a({7, -7, 7, -7, 5});
  const Array b({2, 2, -2, -2, 0});
  EXPECT_THAT(floor_divide(a, b).values<std::int32_t>(), ElementsAre(3, -4, -4, 3, 0));
  EXPECT_THAT(remainder(a, b).values<std::int32_t>(), ElementsAre(1, 1, -1, -1, 0));
  EXPECT_THAT(power(a, Array(3)).values<std::int32_t>(), ElementsAre(343, -343, 343, -343, 125));
}

TEST(Matmul, OfTransposesBatchesAndVectorsIsTheSumOfProducts) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto make = [&](const Shape& shape, Dtype dtype) {
    std::vector<double> values(element_count("test", shape));
    for (double& value : values) value = uniform(random);
    return astype(Array(values.data(), shape, Dtype::float64), dtype);
  };
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16}) {
    const Array a = transpose(make({2, 7, 5}, dtype), std::vector<int>{0, 2, 1});
    const Array b = slice(make({7, 12}, dtype), {0, 0}, {7, 12}, {1, 3});
    const Array c = matmul(a, b);
    ASSERT_EQ(c.shape(), (Shape{2, 5, 4}));
    const auto x = a.values<double>();
    const auto y = b.values<double>();
    const auto z = c.values<double>();
    const double tolerance = dtype == Dtype::float64   ? 1e-12
                             : dtype == Dtype::float32 ? 1e-5
                                                       : 0.05;
    for (std::size_t i = 0; i < z.size(); ++i) {
      double expected = 0;
      for (std::size_t k = 0; k < 7; ++k) expected += x[i / 4 * 7 + k] * y[k * 4 + i % 4];
      EXPECT_NEAR(z[i], expected, tolerance);
    }
  }
  EXPECT_EQ(matmul(Array({1, 2, 3}), Array({4, 5, 6})).item<std::int32_t>(), 32);
  EXPECT_THAT(
      [] {
        (void)matmul(zeros({2, 3}), zeros({2, 3}));
      },
      ThrowsMessage<InvalidArgument>(
          HasSubstr("(2, 3) and (2, 3), expected as many columns on the left (3) as rows on the "
                    "right (2)")));
  EXPECT_THAT(
      [] {
        (void)matmul(zeros({2, 4, 3}), zeros({5, 3, 4}));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("[matmul] shapes; got (2, 4, 3) and (5, 3, 4)")));
  EXPECT_THAT(matmul(zeros({2, 0}), zeros({0, 2})).values<float>(), ElementsAre(0, 0, 0, 0));
}

TEST(Gather, RefusesIndicesOutsideWhenItRuns) {
  const Array x({1.0F, 2.0F, 3.0F});
  EXPECT_THAT(take(x, Array({2, -1, 0})).values<float>(), ElementsAre(3, 3, 1));
  const Array grid = zeros({4, 3});
  const std::vector<std::pair<Array, std::string>> refused = {
      {take(x, Array({0, 3})),
       "[take] index at (1,) along axis 0; got 3, expected -3 to 2: the "
       "axis has 3 elements (found by Gather on stream "},
      {gather(grid, {Array({0, 0, 0}), Array({0, 1, -4})}, {0, 1}),
       "[gather] index at (2,) along axis 1; got -4, expected -3 to 2"},
      {take(grid, reshape(Array({0, 0, 0, 9}), {2, 2}), 0),
       "[take] index at (1, 1) along axis 0; got 9, expected -4 to 3"},
      {take(zeros({0}), Array({0})), "got 0, expected none: the axis has no elements"},
      {scatter_add(x, {Array({5})}, ones({1}), {0}), "[scatter_add] index at (0,) along axis 0"}};
  for (const auto& [outside, message] : refused) {
    EXPECT_THAT([&made = outside] { eval({made}); }, ThrowsMessage<OutOfRange>(HasSubstr(message)));
  }
  EXPECT_THAT((x + x).values<float>(), ElementsAre(2, 4, 6)) << "the stream goes on";
}

TEST(Gather, TellsOnTheSimulatedDeviceAndOnAnotherStreamToo) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array x({1.0F, 2.0F});
  const Array right = x * x;
  const Array outside = take(x, Array({0, -3}));
  {
    const StreamScope second(new_stream(simulated.device));
    const Array late = outside + right;
    EXPECT_THAT([&] { eval({late}); },
                ThrowsMessage<OutOfRange>(HasSubstr("[take] index at (1,) along axis 0; got -3")));
  }
  EXPECT_THAT(right.values<float>(), ElementsAre(1, 4));
  EXPECT_THAT([&] { (void)outside.values<float>(); },
              ThrowsMessage<DeviceError>(HasSubstr("whose work failed")));
  EXPECT_TRUE(simulated.machine->findings().empty());
}

TEST(Slices, OfExtremeBoundsAndStepsOverflowNothing) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Array x = arange(0, 10, 1, Dtype::int32);
  const auto part = [&](std::int64_t start, std::int64_t stop, std::int64_t step) {
    return slice(x, {start}, {stop}, {step}).values<std::int32_t>();
  };
  EXPECT_THAT(part(0, 10, kMost), ElementsAre(0));
  EXPECT_THAT(part(9, -1, kLeast), ElementsAre(9));
  EXPECT_THAT(part(0, 10, 5), ElementsAre(0, 5));
  EXPECT_THAT(part(9, -1, -9), ElementsAre(9, 0));
  EXPECT_THAT(part(kMost, kLeast, 1), ElementsAre());
  EXPECT_THAT(part(kLeast, kMost, -1), ElementsAre());
  const auto refused = [&](std::int64_t start, std::int64_t stop, std::int64_t step) {
    EXPECT_THAT([&] { (void)slice(x, {start}, {stop}, {step}); },
                ThrowsMessage<InvalidArgument>(HasSubstr("within axis 0 of 10 elements")));
  };
  refused(kLeast, kMost, 1);
  refused(kMost, kLeast, -1);
  refused(0, 11, kMost);
  refused(10, -1, kLeast);
}

TEST(Arange, OfIntegersIsExactAndFitsItsDtype) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto values = [](auto start, auto stop, auto step) {
    return arange(start, stop, step, Dtype::int64).template values<std::int64_t>();
  };
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  EXPECT_THAT(values(odd, odd + 3, 1), ElementsAre(odd, odd + 1, odd + 2));
  EXPECT_THAT(values(kMost - 2, kMost, 1), ElementsAre(kMost - 2, kMost - 1));
  EXPECT_THAT(values(kLeast, kMost, kMost), ElementsAre(kLeast, -1, kMost - 1));
  EXPECT_THAT(values(kMost, kLeast, kLeast), ElementsAre(kMost, -1));
  EXPECT_THAT(values(5, 5, 1), ElementsAre());
  EXPECT_THAT(values(0.0, 5.0, 1.5), ElementsAre(0, 1, 2, 3)) << "cut first, as in MLX";
  const auto refused = [](auto start, auto stop, auto step, Dtype dtype, const char* message) {
    EXPECT_THAT([&] { (void)arange(start, stop, step, dtype); },
                ThrowsMessage<InvalidArgument>(HasSubstr(message)));
  };
  refused(250, 260, 1, Dtype::uint8, "element; got 259, expected one that uint8 holds");
  refused(-1, 3, 1, Dtype::uint32, "element; got -1, expected one that uint32 holds");
  refused(0.0, 5e9, 2e9, Dtype::int32, "element; got 4000000000");
  refused(1e19, 2e19, 1e18, Dtype::int64, "number; got 1.9e+19, expected an integer of 64 bits");
  refused(kLeast, kMost, std::int64_t{1}, Dtype::int64, "got 18446744073709551615");
  refused(0, 3, 1, Dtype::bool_, "dtype; got bool");
  refused(0, 3, 0, Dtype::int32, "step; got 0");
}

TEST(ScatterAdd, AddsInTheOrderOfTheIndices) {
  const Array x({1.0F, 2.0F, 3.0F});
  const Array y = scatter_add(x, {Array({0, 2, 0})}, Array({10.0F, 20.0F, 30.0F}), {0});
  EXPECT_THAT(y.values<float>(), ElementsAre(41, 2, 23));
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 2, 3));
}

TEST(Shapes, ThatDoNotFitAreRefused) {
  EXPECT_THAT(
      [] {
        (void)(zeros({2, 3}) + zeros({4}));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("[add] shapes; got (2, 3) and (4,)")));
  EXPECT_THAT([] { (void)sum(zeros({2}), std::vector<int>{1}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("[sum] axis; got 1, expected -1 to 0")));
  EXPECT_THAT(
      [] {
        (void)reshape(zeros({6}), {4, -1});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("one for 6 elements")));
  EXPECT_THAT([] { (void)max(zeros({0})); },
              ThrowsMessage<InvalidArgument>(HasSubstr("elements along axis 0")));
  EXPECT_THAT(
      [] {
        (void)concatenate({zeros({2, 2}), zeros({3, 3})});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("got (3, 3)")));
}

// Of kat_vectors, published with the generator.
TEST(Random, IsThreefryWithItsKnownAnswers) {
  const auto words = [](RandomWords key, RandomWords counter) {
    const RandomWords made = threefry(key, counter);
    return std::pair(made.first, made.second);
  };
  EXPECT_EQ(words({0, 0}, {0, 0}), std::pair(0x6B200159U, 0x99BA4EFEU));
  EXPECT_EQ(words({~0U, ~0U}, {~0U, ~0U}), std::pair(0x1CB996FCU, 0xBB002BE7U));
  EXPECT_EQ(words({0x13198A2E, 0x03707344}, {0x243F6A88, 0x85A308D3}),
            std::pair(0xC4923A9CU, 0x483DF7A0U));
}

TEST(Random, SeedBeginsTheSequenceAnew) {
  random::seed(5);
  const auto first = random::normal({100}).values<float>();
  const auto second = random::normal({100}).values<float>();
  random::seed(5);
  EXPECT_EQ(random::normal({100}).values<float>(), first);
  EXPECT_NE(first, second);
  for (const float value : random::uniform(Array(2.0F), Array(3.0F), {1000}).values<float>()) {
    EXPECT_GE(value, 2.0F);
    EXPECT_LT(value, 3.0F);
  }
}

}  // namespace
}  // namespace strandline::array
