// SPDX-License-Identifier: Apache-2.0
// B-I and B-II of the behaviours of lazy arrays: descriptors, views, siblings, lifetime.
#include "support.h"

namespace strandline::array {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float kSix[] = {0, 1, 2, 3, 4, 5};

// B-1
TEST(ArrayIdentity, CopiesHaveOneIdAndNewArraysOthers) {
  const Array x({1.0F});
  const Array y = x;  // NOLINT(performance-unnecessary-copy-initialization): it is what is tested
  EXPECT_EQ(x.id(), y.id());
  EXPECT_NE(x.id(), Array({1.0F}).id());
  EXPECT_NE(x.id(), (x + x).id());
}

// B-2, B-3
TEST(ArrayDescriptor, HasRowMajorStridesAndSizeFromTheStart) {
  const Array x = zeros({2, 3, 4});
  EXPECT_EQ(x.size(), 24U);
  EXPECT_EQ(x.nbytes(), 96U);
  EXPECT_EQ(x.descriptor().strides, (Strides{12, 4, 1}));
  EXPECT_EQ(x.descriptor().data, nullptr);
  EXPECT_NE(x.descriptor().call, nullptr);
  EXPECT_EQ(Array({1}).descriptor().call, nullptr);
}

// B-3: of inputs as of then.
TEST(ArrayDescriptor, IsATracerWhenAnInputWasOneAsItWasMade) {
  Array x = ones({2});
  const Array before = x + x;
  x.descriptor().is_tracer = true;
  const Array after = split(x * Array(2.0F), 2)[1];
  EXPECT_FALSE(before.descriptor().is_tracer);
  EXPECT_TRUE(after.descriptor().is_tracer);
  EXPECT_FALSE(stop_gradient(x).descriptor().is_tracer);
  EXPECT_FALSE(is_followed(after)) << "no transform runs";
}

// B-4
TEST(ArrayLeaf, IsAvailableAndItsMemoryThereAtConstruction) {
  const auto before = Device::host().allocator().active_bytes();
  const Array x(std::vector<float>(1 << 18).data(), {1 << 18}, Dtype::float32, Device::host());
  EXPECT_EQ(x.status(), Status::available);
  EXPECT_GE(Device::host().allocator().active_bytes(), before + x.nbytes());
}

// B-6
TEST(ArrayData, IsGivenBackOnceWhenTheLastSharerDies) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const auto active = [&] { return simulated.allocator->statistics().allocated_count; };
  {
    const Array x = Array({1.0F, 2.0F, 3.0F, 4.0F});
    auto view = std::make_unique<Array>(transpose(reshape(x, {2, 2})));
    eval({*view});
    EXPECT_EQ(active(), 1U);
    EXPECT_EQ(x.descriptor().data.use_count(), 2);
    view = nullptr;
    EXPECT_EQ(active(), 1U);
  }
  EXPECT_EQ(active(), 0U);
}

// B-7, B-8
TEST(ArrayWrap, CallsTheDeleterExactlyOnceWhetherWrappedOrCopied) {
  Simulated simulated;
  void* const page = std::aligned_alloc(4096, 4096);
  auto* const values = static_cast<float*>(page);
  std::fill_n(values, 1024, 2.5F);
  int deleted = 0;
  const auto count = [&](void*) { ++deleted; };
  {
    const Array wrapped = Array::wrap(page, {1024}, Dtype::float32, count, Device::host());
    EXPECT_EQ(wrapped.data<float>(), values) << "no copy";
    const Array view = reshape(wrapped, {32, 32});
    eval({view});
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  {
    const Array copied = Array::wrap(values + 1, {2}, Dtype::float32, count, simulated.device);
    EXPECT_EQ(deleted, 2) << "at once: these bytes cannot be wrapped";
    EXPECT_THAT(copied.values<float>(), ElementsAre(2.5F, 2.5F));
  }
  EXPECT_EQ(deleted, 2);
  std::free(page);
}

// B-10
TEST(ArrayViews, ShareDataWithTheirOwnStridesAndOffsets) {
  const Array x(kSix, {2, 3}, Dtype::float32);
  const Array t = transpose(x);
  const Array s = slice(x, {1, 0}, {2, 3}, {1, 2});
  const Array b = broadcast_to(Array(7.0F), {2, 2});
  const std::vector<Array> parts = split(x, 3, 1);
  const Array back = slice(x, {1, 2}, {-1, -1}, {-1, -1});
  const Array deep = expand_dims(s, {0, 2});
  const Array flat = squeeze(deep);
  const Array again = copy(t);
  const Array still = stop_gradient(s);
  eval({t, s, b, parts[1], back, deep, flat, again, still});
  for (const Array& view : {t, s, parts[1], back, deep, flat, again, still}) {
    EXPECT_EQ(view.descriptor().data, x.descriptor().data);
  }
  EXPECT_EQ(deep.shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(deep.descriptor().offset_bytes, 12U);
  EXPECT_EQ(flat.shape(), (Shape{2}));
  EXPECT_THAT(flat.values<float>(), ElementsAre(3, 5));
  EXPECT_NE(again.id(), t.id());
  EXPECT_EQ(again.descriptor().strides, t.descriptor().strides);
  EXPECT_EQ(t.descriptor().strides, (Strides{1, 3}));
  EXPECT_EQ(s.descriptor().offset_bytes, 12U);
  EXPECT_EQ(b.descriptor().data_size, 1U);
  EXPECT_EQ(b.descriptor().strides, (Strides{0, 0}));
  EXPECT_THAT(t.values<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(s.values<float>(), ElementsAre(3, 5));
  EXPECT_THAT(parts[1].values<float>(), ElementsAre(1, 4));
  EXPECT_THAT(back.values<float>(), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(b.values<float>(), ElementsAre(7, 7, 7, 7));
}

// B-10: the empty slice
TEST(ArrayViews, AnEmptySliceHasDataOfItsOwn) {
  const Array x({1.0F, 2.0F});
  const Array none = slice(x, {1}, {1}, {1});
  eval({none});
  EXPECT_NE(none.descriptor().data, x.descriptor().data);
  EXPECT_EQ(buffer_size_of(none), 0U);
  EXPECT_TRUE(none.values<float>().empty());
}

// B-11
TEST(ArrayReshape, ToTheSameShapeIsTheSameArrayAndCopiesOnlyWhereItMust) {
  const Array x(kSix, {2, 3}, Dtype::float32);
  EXPECT_EQ(reshape(x, {2, 3}).id(), x.id());
  const Array view = reshape(x, {3, 2});
  const Array split_axis = reshape(slice(x, {0, 0}, {2, 2}, {1, 1}), {2, 2, 1});
  const Array copied = reshape(transpose(x), {6});
  eval({view, split_axis, copied});
  EXPECT_EQ(view.descriptor().data, x.descriptor().data);
  EXPECT_EQ(split_axis.descriptor().data, x.descriptor().data);
  EXPECT_NE(copied.descriptor().data, x.descriptor().data);
  EXPECT_THAT(copied.values<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(split_axis.values<float>(), ElementsAre(0, 1, 3, 4));
}

// B-11: what is contiguous shares, unless it would keep a much larger buffer.
TEST(ArrayContiguous, SharesUnlessTheBufferIsMuchLarger) {
  const Array x = zeros({1 << 14}) + Array(1.0F);
  const Array same = contiguous(reshape(x, {128, 128}));
  const Array few = contiguous(slice(x, {0}, {16}, {1}));
  const Array turned = contiguous(transpose(reshape(x, {2, 1 << 13})));
  eval({x, same, few, turned});
  EXPECT_EQ(same.descriptor().data, x.descriptor().data);
  EXPECT_NE(few.descriptor().data, x.descriptor().data);
  EXPECT_TRUE(turned.descriptor().is_row_contiguous);
  EXPECT_NE(turned.descriptor().data, x.descriptor().data);
}

// B-12
TEST(ArrayNodes, OneCallMayMakeSeveral) {
  const Array x = full({2}, Array(1.0F));
  EXPECT_EQ(x.descriptor().call->primitive->name(), "Full");
  EXPECT_EQ(x.descriptor().call->inputs[0].descriptor().call->primitive->name(), "Broadcast");
  const Array sum = ones({2, 3}) + ones({3});
  EXPECT_EQ(sum.descriptor().call->primitive->name(), "Add");
  EXPECT_EQ(sum.descriptor().call->inputs[1].descriptor().call->primitive->name(), "Broadcast");
  const auto mallocs = [] { return Device::host().allocator().statistics().mallocs; };
  const auto before = mallocs();
  const Array leaf({1.0F, 2.0F, 3.0F});
  EXPECT_EQ(mallocs(), before + 1);
  const Array view = reshape(transpose(leaf), {1, 3});
  eval({view});
  EXPECT_EQ(mallocs(), before + 1) << "nodes, and no memory";
}

// B-13
TEST(ArrayErrors, SayWhatWasWrong) {
  const Array x = zeros({2, 3});
  EXPECT_THAT([&] { (void)x.shape(2); }, ThrowsMessage<OutOfRange>(HasSubstr("(2, 3)")));
  EXPECT_EQ(x.shape(-1), 3);
  EXPECT_THAT([&] { (void)x.item<float>(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("[item] array; got 6 elements")));
  EXPECT_THAT([&] { (void)x.data<double>(); },
              ThrowsMessage<TypeMismatch>(HasSubstr("expected float32")));
  EXPECT_THAT([&] { (x + x).wait(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("never evaluated")));
  const auto too_large = [] { (void)zeros({1 << 30, 1 << 30, 1 << 30}); };
  EXPECT_THAT(too_large, ThrowsMessage<InvalidArgument>(HasSubstr("fewer than 2^60 elements")));
  const auto negative_extent = [] { (void)zeros({2, -1}); };
  EXPECT_THAT(negative_extent, ThrowsMessage<InvalidArgument>(HasSubstr("(2, -1)")));
  const auto eleven_axes = [] { (void)zeros({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); };
  EXPECT_THAT(eleven_axes, ThrowsMessage<InvalidArgument>(HasSubstr("at most 10")));
  const auto complex = [] { (void)zeros({2}, Dtype::complex64); };
  EXPECT_THAT(complex, ThrowsMessage<InvalidArgument>(HasSubstr("complex64")));
  EXPECT_THAT([] { (void)dtype_named("float8"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'float8'")));
}

// B-14
TEST(ArrayBuffer, IsAsLargeAsTheAllocatorSays) {
  const Array x = zeros({1000}) + Array(1.0F);
  eval({x});
  EXPECT_GE(buffer_size_of(x), x.nbytes());
  const Array view = slice(x, {0}, {2}, {1});
  eval({view});
  EXPECT_EQ(buffer_size_of(view), buffer_size_of(x)) << "not of the view's own bytes";
  EXPECT_EQ(buffer_size_of(x),
            Device::host().allocator().size(alloc::Buffer(
                reinterpret_cast<void*>(buffer_address_of(x)), &Device::host().allocator())));
}

// B-16
TEST(ArrayPrimitive, HasTheStreamOfItsMakingWhoeverEvaluates) {
  Simulated simulated;
  std::vector<StreamId> ran;
  simulated.machine->set_chooser([&](std::span<const sim::Candidate> candidates) {
    if (candidates[0].operation == "Exp") ran.push_back(candidates[0].stream);
    return std::size_t{0};
  });
  const Stream own = new_stream(simulated.device);
  const Array x = [&] {
    const StreamScope on(own);
    return exp(ones({4}));
  }();
  EXPECT_EQ(x.descriptor().call->primitive->stream(), own);
  EXPECT_EQ(x.descriptor().call->primitive->name(), "Exp");
  const DeviceScope on(simulated.device);
  eval({x});
  EXPECT_THAT(ran, ElementsAre(own.id()));
}

// B-16
TEST(ArrayPrimitive, ThatGivesItsOutputNoMemoryIsTold) {
  const Array x = scripted(ones({4}), [](const auto&, auto&, Encoder&) {});
  EXPECT_THAT([&] { eval({x}); },
              ThrowsMessage<InternalError>(HasSubstr("output of Scripted; got no memory")));
  EXPECT_EQ(x.status(), Status::unscheduled);
}

// B-17
TEST(ArraySiblings, ShareOnePrimitiveAndKnowEachOther) {
  const Array x({1.0F, 2.0F, 3.0F});
  const std::vector<Array> parts = split(x, 3);
  EXPECT_EQ(parts[0].descriptor().call, parts[2].descriptor().call);
  EXPECT_EQ(parts[2].descriptor().position, 2U);
  const std::vector<Array> siblings = siblings_of(parts[1]);
  ASSERT_EQ(siblings.size(), 2U);
  EXPECT_EQ(siblings[0].id(), parts[0].id());
  EXPECT_EQ(outputs_of(parts[2])[0].id(), parts[0].id());
  const Array only = split(x, 3)[1];  // the others are gone, and are made again when it runs
  EXPECT_EQ(outputs_of(only).size(), 3U);
  EXPECT_EQ(outputs_of(only)[1].id(), only.id());
  EXPECT_FLOAT_EQ(only.item<float>(), 2.0F);
}

// B-18
TEST(ArraySiblings, DoNotKeepAnUnevaluatedGraphAlive) {
  std::weak_ptr<Descriptor> leaf;
  {
    const Array x({1.0F, 2.0F});
    leaf = x.node();
    const std::vector<Array> parts = split(x, 2);
    const Array both = parts[0] + parts[1];
  }
  EXPECT_TRUE(leaf.expired());
}

// B-19
TEST(ArrayLifetime, DeepGraphsDieWithoutRecursion) {
  Array x({1.0F});
  for (int i = 0; i < 200'000; ++i) x = x + x;
  std::weak_ptr<Descriptor> last = x.node();
  x = Array({1.0F});
  EXPECT_TRUE(last.expired());
  for (int i = 0; i < 100'000; ++i) x = split(concatenate({x, x}), 2)[1];
  x = Array({1.0F});
}

// B-20
TEST(ArrayDetach, TakesSiblingsOutOfTheGraphAndFreesIt) {
  std::weak_ptr<Descriptor> upstream;
  const std::vector<Array> parts = [&] {
    const Array x = ones({2}) + Array(1.0F);
    upstream = x.node();
    return split(x, 2);
  }();
  EXPECT_FALSE(upstream.expired());
  parts[1].detach();
  EXPECT_EQ(parts[0].descriptor().call, nullptr);
  EXPECT_EQ(parts[1].descriptor().position, 0U);
  EXPECT_TRUE(upstream.expired());
}

}  // namespace
}  // namespace strandline::array
