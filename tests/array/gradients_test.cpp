// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences, in float64, of every operation that has one.
#include <cmath>
#include <map>
#include <random>

#include "strandline/array/transforms.h"
#include "support.h"

namespace strandline::array {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Function = std::function<Array(const std::vector<Array>&)>;

Array weighted_sum(const Array& a) {
  // Unequal weights, so that a gradient in the wrong place shows.
  std::vector<double> weights(a.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.3 + 0.17 * static_cast<double>(i);
  return sum(a * Array(weights.data(), a.shape(), Dtype::float64));
}

void expect_gradients(const std::string& what, const Function& function,
                      const std::vector<Array>& inputs) {
  SCOPED_TRACE(what);
  const auto loss = [&](const std::vector<Array>& x) {
    return std::vector<Array>{weighted_sum(astype(function(x), Dtype::float64))};
  };
  std::vector<std::size_t> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) arguments.push_back(i);
  const auto [value, gradients] = value_and_grad(loss, inputs, arguments);
  constexpr double kStep = 1e-6;
  for (const std::size_t i : arguments) {
    ASSERT_EQ(gradients[i].shape(), inputs[i].shape());
    const auto got = gradients[i].values<double>();
    const auto at = inputs[i].values<double>();
    for (std::size_t j = 0; j < at.size(); ++j) {
      const auto moved = [&](double by) {
        std::vector<double> values = at;
        values[j] += by;
        std::vector<Array> x = inputs;
        x[i] = Array(values.data(), inputs[i].shape(), Dtype::float64);
        return loss(x)[0].item<double>();
      };
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(got[j], expected, 1e-6 * std::max(1.0, std::fabs(expected)))
          << "input " << i << ", element " << j;
    }
  }
}

class Gradients : public testing::Test {
 protected:
  Array make(const Shape& shape, double low = -1.5, double high = 1.5) {
    std::uniform_real_distribution<double> uniform(low, high);
    std::vector<double> values(element_count("test", shape));
    for (double& value : values) value = uniform(random_);
    return Array(values.data(), shape, Dtype::float64);
  }

  std::mt19937 random_{20261130};
};

TEST_F(Gradients, OfFunctionsOfOneNumber) {
  using Unary = Array (*)(const Array&);
  const std::map<std::string, Unary> anywhere = {
      {"negative", negative}, {"abs", abs},     {"square", square},   {"exp", exp},
      {"tanh", tanh},         {"erf", erf},     {"sigmoid", sigmoid}, {"sin", sin},
      {"cos", cos},           {"floor", floor}, {"sign", sign},       {"copy", copy}};
  for (const auto& [name, f] : anywhere) {
    const Unary function = f;
    expect_gradients(name, [&](const auto& x) { return function(x[0]); }, {make({2, 3})});
  }
  const std::map<std::string, Unary> positive = {{"log", log}, {"sqrt", sqrt}, {"rsqrt", rsqrt}};
  for (const auto& [name, f] : positive) {
    const Unary function = f;
    expect_gradients(name, [&](const auto& x) { return function(x[0]); }, {make({5}, 0.5, 2)});
  }
  expect_gradients("erfinv", [](const auto& x) { return erfinv(x[0]); }, {make({5}, -0.9, 0.9)});
}

TEST_F(Gradients, OfFunctionsOfTwoNumbersThatBroadcast) {
  using Binary = Array (*)(const Array&, const Array&);
  const std::map<std::string, Binary> functions = {{"add", add},
                                                   {"subtract", subtract},
                                                   {"multiply", multiply},
                                                   {"divide", divide},
                                                   {"maximum", maximum},
                                                   {"minimum", minimum},
                                                   {"logaddexp", logaddexp},
                                                   {"power", power},
                                                   {"remainder", remainder}};
  for (const auto& [name, f] : functions) {
    const Binary function = f;
    expect_gradients(name, [&](const auto& x) { return function(x[0], x[1]); },
                     {make({2, 3}, 0.5, 2), make({3}, 0.6, 2.1)});
    expect_gradients(name, [&](const auto& x) { return function(x[0], x[1]); },
                     {make({}, 0.5, 2), make({4, 1}, 0.6, 2.1)});
  }
  const Array which({true, false, true});
  expect_gradients("where", [&](const auto& x) { return where(which, x[0], x[1]); },
                   {make({2, 3}), make({3})});
  expect_gradients("clip", [](const auto& x) { return clip(x[0], Array(-0.5), Array(0.7)); },
                   {make({9})});
}

TEST_F(Gradients, OfReductions) {
  const std::vector<Axes> all_axes = {std::nullopt, std::vector<int>{0}, std::vector<int>{-1},
                                      std::vector<int>{0, 2}};
  for (const Axes& axes : all_axes) {
    for (const KeepDims keep : {KeepDims::no, KeepDims::yes}) {
      const std::map<std::string, Function> functions = {
          {"sum", [&](const auto& x) { return sum(x[0], axes, keep); }},
          {"prod", [&](const auto& x) { return prod(x[0], axes, keep); }},
          {"mean", [&](const auto& x) { return mean(x[0], axes, keep); }},
          {"var", [&](const auto& x) { return var(x[0], axes, keep, 1); }},
          {"max", [&](const auto& x) { return max(x[0], axes, keep); }},
          {"min", [&](const auto& x) { return min(x[0], axes, keep); }},
          {"logsumexp", [&](const auto& x) { return logsumexp(x[0], axes, keep); }},
          {"softmax", [&](const auto& x) { return softmax(x[0], axes); }}};
      for (const auto& [name, function] : functions) {
        expect_gradients(name, function, {make({2, 3, 4})});
      }
    }
  }
}

TEST_F(Gradients, OfShapesAndViews) {
  const std::map<std::string, Function> functions = {
      {"reshape",
       [](const auto& x) {
         return reshape(x[0], {4, 3});
       }},
      {"transpose",
       [](const auto& x) {
         return transpose(x[0], std::vector<int>{1, 0});
       }},
      {"moveaxis", [](const auto& x) { return moveaxis(expand_dims(x[0], {0}), 0, 2); }},
      {"broadcast_to",
       [](const auto& x) {
         return broadcast_to(x[0], {2, 3, 4});
       }},
      {"slice",
       [](const auto& x) {
         return slice(x[0], {0, 3}, {3, -1}, {2, -2});
       }},
      {"split", [](const auto& x) { return split(x[0], 2, 1)[1] * split(x[0], 2, 1)[0]; }},
      {"one of split", [](const auto& x) { return split(x[0], 4, 1)[2]; }},
      {"flatten", [](const auto& x) { return flatten(transpose(x[0])); }},
      {"contiguous", [](const auto& x) { return contiguous(transpose(x[0])); }},
      {"astype", [](const auto& x) { return astype(x[0], Dtype::float64); }}};
  for (const auto& [name, function] : functions) expect_gradients(name, function, {make({3, 4})});
}

TEST_F(Gradients, OfMovedElements) {
  const Array rows({2, 0, 2, -1});
  const Array columns({1, 3, 1, 0});
  const std::map<std::string, Function> functions = {
      {"concatenate",
       [](const auto& x) {
         return concatenate({x[0], x[1], x[0]}, 1);
       }},
      {"stack",
       [](const auto& x) {
         return stack({x[0], x[1]}, -1);
       }},
      {"pad",
       [](const auto& x) {
         return pad(x[0], {{1, 0}, {0, 2}}, sum(x[1]));
       }},
      {"take", [&](const auto& x) { return take(x[0] * x[1], rows, 1); }},
      {"take of all", [&](const auto& x) { return take(x[0] * x[1], rows); }},
      {"gather",
       [&](const auto& x) {
         return gather(x[0] * x[1], {rows, columns}, {0, 1});
       }},
      {"scatter_add",
       [&](const auto& x) { return scatter_add(x[0], {rows}, take(x[1], rows, 0), {0}); }}};
  for (const auto& [name, function] : functions) {
    expect_gradients(name, function, {make({3, 4}), make({3, 4})});
  }
}

TEST_F(Gradients, OfMatrixProducts) {
  const auto product = [](const auto& x) { return matmul(x[0], x[1]); };
  expect_gradients("matrices", product, {make({2, 3}), make({3, 4})});
  expect_gradients("batches", product, {make({2, 1, 2, 3}), make({4, 3, 2})});
  expect_gradients("vectors", product, {make({3}), make({3})});
  expect_gradients("a vector and a matrix", product, {make({3}), make({3, 2})});
  expect_gradients("a batch and a vector", product, {make({2, 2, 3}), make({3})});
}

TEST_F(Gradients, OfAGraphWithSharedParts) {
  expect_gradients("shared",
                   [](const auto& x) {
                     const Array h = tanh(matmul(x[0], x[1]));
                     const Array p = softmax(h, std::vector<int>{-1});
                     return logsumexp(h, std::vector<int>{0}) + sum(p * h, std::vector<int>{0});
                   },
                   {make({4, 3}), make({3, 5})});
}

TEST_F(Gradients, OfGradients) {
  const auto slope = [](const std::vector<Array>& x) {
    const auto cubed = [](const std::vector<Array>& y) {
      return std::vector<Array>{sum(y[0] * y[0] * y[0])};
    };
    return std::vector<Array>{sum(value_and_grad(cubed, x, {0}).second[0])};
  };
  const Array x({1.0, 2.0});
  EXPECT_THAT(value_and_grad(slope, {x}, {0}).second[0].values<double>(), ElementsAre(6, 12));
}

TEST_F(Gradients, StopWhereTheyAreToldTo) {
  const auto loss = [](const std::vector<Array>& x) {
    return std::vector<Array>{sum(x[0] * stop_gradient(x[0]))};
  };
  const Array x({3.0, 4.0});
  EXPECT_THAT(value_and_grad(loss, {x}, {0}).second[0].values<double>(), ElementsAre(3, 4));
}

TEST_F(Gradients, OfWhatIsNotUsedAreZeros) {
  const auto loss = [](const std::vector<Array>& x) { return std::vector<Array>{sum(x[0])}; };
  const auto [value, gradients] = value_and_grad(loss, {make({2}), make({3})}, {0, 1});
  EXPECT_THAT(gradients[1].values<double>(), ElementsAre(0, 0, 0));
}

TEST_F(Gradients, WantAScalarFloatAndFloats) {
  const auto same = [](const std::vector<Array>& x) { return x; };
  EXPECT_THAT([&] { (void)value_and_grad(same, {make({2})}, {0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("expected a scalar float first")));
  EXPECT_THAT([&] { (void)value_and_grad(same, {Array(1)}, {0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("got int32, expected an array of floats")));
  EXPECT_THAT([&] { (void)value_and_grad(same, {make({})}, {1}); },
              ThrowsMessage<OutOfRange>(HasSubstr("got 1, expected below 1")));
  EXPECT_THAT([&] { (void)vjp(same, {make({2})}, {make({3})}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("the shape of its result, (2,)")));
}

// B-30
TEST_F(Gradients, AsyncEvalIsRefusedInside) {
  const auto loss = [](const std::vector<Array>& x) {
    const Array y = exp(x[0]);
    async_eval({y});
    return std::vector<Array>{sum(y)};
  };
  EXPECT_THAT([&] { (void)value_and_grad(loss, {make({2})}, {0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("[async_eval]")));
}

// B-31: outside of a transform the flag alone keeps nothing.
TEST_F(Gradients, LeaveNoGraphBehindOnceEvaluated) {
  std::vector<Array> kept;
  const auto loss = [&](const std::vector<Array>& x) {
    kept.push_back(exp(x[0]));
    return std::vector<Array>{sum(kept[0])};
  };
  const auto [value, gradients] = value_and_grad(loss, {make({2})}, {0});
  eval({kept[0]});
  EXPECT_EQ(kept[0].descriptor().call, nullptr);
  EXPECT_EQ(gradients[0].values<double>(), kept[0].values<double>());
}

}  // namespace
}  // namespace strandline::array
