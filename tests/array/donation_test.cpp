// SPDX-License-Identifier: Apache-2.0
// B-III of the behaviours of lazy arrays: buffers that go from an input to an output.
#include "strandline/array/transforms.h"
#include "support.h"

namespace strandline::array {
namespace {

using testing::Each;
using testing::ElementsAre;

class Donation : public testing::Test {
 protected:
  std::uint64_t mallocs() const { return simulated_.allocator->statistics().mallocs; }
  std::uint64_t peak_of(const std::function<void()>& run) {
    simulated_.allocator->reset_peaks();
    const std::uint64_t before = simulated_.allocator->active_bytes();
    run();
    synchronize(simulated_.device);
    return simulated_.allocator->statistics().peak_active_bytes - before;
  }

  Simulated simulated_;
  DeviceScope on_{simulated_.device};
};

// B-21, B-22
TEST_F(Donation, AChainOfElementwiseOperationsUsesOneBuffer) {
  Array x = full({1 << 16}, Array(0.5F));
  for (int i = 0; i < 50; ++i) x = sin(x);
  const auto before = mallocs();
  eval({x});
  EXPECT_EQ(mallocs(), before + 1) << "the full array's; the rest take it over";
  float expected = 0.5F;
  for (int i = 0; i < 50; ++i) expected = std::sin(expected);
  EXPECT_THAT(x.values<float>(), Each(testing::FloatEq(expected)));
  EXPECT_TRUE(simulated_.machine->findings().empty());
}

TEST_F(Donation, TheFirstOperandGivesItsBufferThenTheSecond) {
  const auto fresh = [] { return full({1 << 12}, Array(2.0F)); };
  const Array kept = fresh();
  eval({kept});
  auto before = mallocs();
  const Array product = fresh() * kept;
  eval({product});
  EXPECT_EQ(mallocs(), before + 2);  // the scalar leaf, and fresh's own
  before = mallocs();
  const Array difference = kept - fresh();
  eval({difference});
  EXPECT_EQ(mallocs(), before + 2);
  before = mallocs();
  const Array both = kept + kept;
  eval({both});
  EXPECT_EQ(mallocs(), before + 1);
  EXPECT_THAT(kept.values<float>(), Each(2.0F));
}

TEST_F(Donation, WhatSomebodyElseHasIsNotTouched) {
  const Array x({1.0F, 2.0F, 3.0F});
  const Array view = reshape(x, {3, 1});
  const Array y = x + Array(1.0F);
  const Array z = exp(reshape(y, {1, 3}));
  eval({view, y, z});
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(y.values<float>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(view.values<float>(), ElementsAre(1, 2, 3));
}

TEST_F(Donation, NotToAnotherElementSizeNorFromAMuchLargerBuffer) {
  auto before = mallocs();
  eval({astype(full({1 << 12}, Array(2.0F)), Dtype::float16)});
  EXPECT_EQ(mallocs(), before + 3);
  const Array part = slice(full({1 << 16}, Array(2.0F)), {0}, {16}, {1});
  before = mallocs();
  eval({exp(part)});
  EXPECT_EQ(mallocs(), before + 2) << "16 floats do not keep 256 KiB";
}

// B-22: what has gaps is not taken over; two scalars are, unlike MLX's.
TEST_F(Donation, FromWhatLiesWithoutGaps) {
  const auto square = [] { return full({64, 64}, Array(2.0F)); };
  // Of the array alone: its operands have gone when it is evaluated.
  const auto mallocs_of = [&](const auto& make) {
    const Array array = make();
    const auto before = mallocs();
    eval({array});
    return mallocs() - before;
  };
  EXPECT_EQ(mallocs_of([&] { return softmax(square(), std::vector<int>{1}); }), 1U);
  EXPECT_EQ(mallocs_of([&] { return exp(transpose(square())); }), 1U) << "no gaps";
  EXPECT_EQ(mallocs_of([&] { return exp(slice(square(), {0, 0}, {64, 63}, {1, 1})); }), 2U);
  const Array column = full({64, 1}, Array(1.0F));
  eval({column});
  EXPECT_EQ(mallocs_of([&] { return column + square(); }), 1U) << "the second operand's";
  EXPECT_EQ(mallocs_of([&] { return column + transpose(square()); }), 1U) << "in its order";
  const Array scalar(1.0F);
  EXPECT_EQ(mallocs_of([&] { return exp(scalar) + exp(scalar); }), 2U) << "none for the sum";
}

// B-7: memory of others is read only.
TEST_F(Donation, NeverFromWrappedMemory) {
  std::vector<float> ours(2048, 1.0F);
  void* const page = std::aligned_alloc(4096, 8192);
  std::fill_n(static_cast<float*>(page), 2048, 1.0F);
  const DeviceScope host(Device::host());
  eval({exp(Array::wrap(
      page, {2048}, Dtype::float32, [](void*) {}, Device::host()))});
  synchronize(Device::host());
  EXPECT_EQ(static_cast<float*>(page)[7], 1.0F);
  std::free(page);
}

// B-24, B-32
TEST_F(Donation, WhatATransformFollowsIsKept) {
  const auto loss = [](const std::vector<Array>& inputs) {
    const Array y = exp(sin(inputs[0]));
    eval({y});
    return std::vector<Array>{sum(y)};
  };
  const Array x({0.5F, 1.0F});
  const auto [values, gradients] = value_and_grad(loss, {x}, {0});
  EXPECT_FLOAT_EQ(gradients[0].values<float>()[0], std::exp(std::sin(0.5F)) * std::cos(0.5F));
  EXPECT_FLOAT_EQ(gradients[0].values<float>()[1], std::exp(std::sin(1.0F)) * std::cos(1.0F));
}

// B-25
TEST_F(Donation, ChainsThroughViewsKeepThePeakFlat) {
  const auto chain = [](int length) {
    Array x = full({64, 1024}, Array(-1.0F));
    for (int i = 0; i < length; ++i) {
      x = stop_gradient(transpose(reshape(abs(x), {1024, 64})));
      x = reshape(transpose(x), {64, 1024});
    }
    return x;
  };
  const auto run = [&](int length) { return peak_of([&] { eval({chain(length)}); }); };
  EXPECT_EQ(run(2), run(20));
  const auto slices = [](int length) {
    Array x = full({1 << 16}, Array(-1.0F));
    for (int i = 0; i < length; ++i) {
      x = slice(abs(x), {0}, {x.shape(0) - 1}, {1});
    }
    return x;
  };
  const auto run_slices = [&](int length) { return peak_of([&] { eval({slices(length)}); }); };
  EXPECT_EQ(run_slices(2), run_slices(20));
}

// B-32
TEST_F(Donation, EvaluatingOneOfTwoOutputsInRepeatedTransformsKeepsThePeak) {
  const Array x = full({1 << 14}, Array(0.5F));
  eval({x});
  const auto loss = [](const std::vector<Array>& in) {
    const std::vector<Array> parts = split(exp(in[0]) * Array(2.0F), 2);
    eval({parts[0]});
    return std::vector<Array>{sum(parts[0] + parts[1])};
  };
  const auto run = [&](int times) {
    return peak_of([&] {
      for (int i = 0; i < times; ++i) {
        const auto [values, gradients] = value_and_grad(loss, {x}, {0});
        eval({values[0], gradients[0]});
      }
    });
  };
  EXPECT_EQ(run(1), run(10));
}

// B-33
TEST_F(Donation, QueuedWorkKeepsItsBuffersUntilItHasRun) {
  const auto blocks = [&] { return simulated_.allocator->statistics().allocated_count; };
  {
    const Array x = full({1 << 12}, Array(2.0F));
    const Array y = matmul(reshape(x, {64, 64}), reshape(x, {64, 64}));
    async_eval({x, y});
  }
  EXPECT_EQ(blocks(), 3U) << "the scalar, x and y: no array has them any more";
  EXPECT_EQ(simulated_.device.queued_tasks(), 2U);
  simulated_.machine->run_all();
  EXPECT_EQ(blocks(), 0U);
  EXPECT_EQ(simulated_.device.queued_tasks(), 0U);
  EXPECT_TRUE(simulated_.machine->findings().empty());
}

// A buffer that work of another stream still reads stays whole.
TEST_F(Donation, NotAcrossStreams) {
  const Stream other = new_stream(simulated_.device);
  Array x = full({64}, Array(2.0F));
  const Array reader = [&] {
    const StreamScope on(other);
    return sum(x);
  }();
  async_eval({x});
  async_eval({reader});
  Array y = exp(x);
  x = Array(0.0F);
  async_eval({y});
  EXPECT_FLOAT_EQ(reader.item<float>(), 128.0F);
  EXPECT_TRUE(simulated_.machine->findings().empty());
}

}  // namespace
}  // namespace strandline::array
