// SPDX-License-Identifier: Apache-2.0
// B-IV of the behaviours of lazy arrays: what runs, in which order, and what becomes of errors.
#include "strandline/alloc/default_allocator.h"
#include "strandline/array/transforms.h"
#include "support.h"

namespace strandline::array {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names_of(const EvalPlan& plan) {
  std::vector<std::string> names;
  for (const EvalPlan::Step& step : plan.steps) {
    names.emplace_back(step.array.descriptor().call->primitive->name());
  }
  return names;
}

// The graph of the recorder's write-up.
struct WriteUpGraph {
  Array a{{1, 2, 3, 4}};
  Array b{{5, 6, 7, 8}};
  Array c = a + b;
  Array k = reshape(a, {4, 1});
  Array l = reshape(c, {1, 4});
  Array d = matmul(k, l);
  Array out2 = reshape(d, {4, 4});
  std::vector<Array> s = split(d, 4);
  Array out1 = s[0] + s[2];
  Array out3 = d + a;
  std::vector<Array> outputs() const { return {out1, out2, out3}; }
};

// B-29
TEST(EvalOrder, IsThatOfTheWriteUp) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const WriteUpGraph g;
  EXPECT_EQ(g.out2.id(), g.d.id());
  EvalPlan plan = plan_evaluation(g.outputs());
  EXPECT_THAT(names_of(plan), ElementsAre("Add", "Reshape", "Reshape", "Matmul", "Broadcast",
                                          "Split", "Add", "Add"));
  const auto id_of_step = [&](std::size_t i) { return plan.steps[i].array.id(); };
  EXPECT_EQ(id_of_step(0), g.c.id());
  EXPECT_EQ(id_of_step(1), g.l.id());
  EXPECT_EQ(id_of_step(2), g.k.id());
  EXPECT_EQ(id_of_step(3), g.d.id());
  EXPECT_EQ(id_of_step(5), g.s[2].id());
  EXPECT_EQ(id_of_step(6), g.out3.id());
  EXPECT_EQ(id_of_step(7), g.out1.id());
  const auto broadcast = plan.steps[4].array;
  EXPECT_EQ(broadcast.descriptor().call->inputs[0].id(), g.a.id());
}

// B-28
TEST(EvalOrder, CountsConsumersAsTheWriteUpDoes) {
  const WriteUpGraph g;
  const auto count = [&](const Array& array) { return consumers_of(array, g.outputs()); };
  EXPECT_EQ(count(g.a), 3U);
  EXPECT_EQ(count(g.d), 3U);
  EXPECT_EQ(count(g.s[0]), 2U);
  EXPECT_EQ(count(g.s[3]), 2U);
  for (const Array& once : {g.k, g.l, g.b, g.c, g.out1, g.out3}) EXPECT_EQ(count(once), 1U);
  EXPECT_EQ(plan_evaluation(g.outputs()).steps[4].consumers, 1U);
}

TEST(EvalOrder, RunsEachOperationOnceAndGivesTheValues) {
  Simulated simulated;
  const auto order = note_order(*simulated.machine);
  const DeviceScope on(simulated.device);
  const WriteUpGraph g;
  eval(g.outputs());
  EXPECT_TRUE(plan_evaluation(g.outputs()).steps.empty()) << "nothing is left to run";
  std::erase_if(*order, [](const std::string& name) { return name == "record_event"; });
  EXPECT_THAT(*order, ElementsAre("Add", "Matmul", "Add", "Add"));  // the others are views
  EXPECT_THAT(g.out1.values<std::int32_t>(), ElementsAre(24, 32, 40, 48));
  EXPECT_THAT(g.d.values<std::int32_t>(),
              ElementsAre(6, 8, 10, 12, 12, 16, 20, 24, 18, 24, 30, 36, 24, 32, 40, 48));
  EXPECT_THAT(g.out3.values<std::int32_t>(),
              ElementsAre(7, 10, 13, 16, 13, 18, 23, 28, 19, 26, 33, 40, 25, 34, 43, 52));
  EXPECT_TRUE(simulated.machine->findings().empty());
}

// B-29: the tape [B1 B2 A1 A2 B3 A3] of a width of 2, and [B1 B2 B3 A1 A2 A3], run from the back.
TEST(EvalOrder, OfThreeChainsGoesByLevelsOrByChains) {
  std::vector<Array> first;
  std::vector<Array> second;
  for (int i = 0; i < 3; ++i) {
    first.push_back(exp(Array(1.0F)));
    second.push_back(sin(first.back()));
  }
  const auto order = [&](std::uint32_t width) {
    const EvalLimits before = set_eval_limits({.max_width = width, .max_queued_tasks = 100});
    std::string names;
    for (const EvalPlan::Step& step : plan_evaluation(second).steps) {
      for (std::size_t i = 0; i < 3; ++i) {
        if (step.array.id() == first[i].id()) names += " A" + std::to_string(i + 1);
        if (step.array.id() == second[i].id()) names += " B" + std::to_string(i + 1);
      }
    }
    set_eval_limits(before);
    return names;
  };
  EXPECT_EQ(order(20), " A3 A2 A1 B3 B2 B1");
  EXPECT_EQ(order(2), " A3 B3 A2 A1 B2 B1");
}

// B-29
TEST(EvalOrder, PastTheWidthKeepsFewArraysAlive) {
  const auto peak_at_width = [](std::uint32_t width) {
    Simulated simulated;
    const DeviceScope on(simulated.device);
    const EvalLimits before = set_eval_limits({.max_width = width, .max_queued_tasks = 1});
    std::vector<Array> ends;
    for (int i = 0; i < 40; ++i) ends.push_back(sum(sin(full({1 << 14}, Array(1.0F)))));
    eval({stack(ends)});
    set_eval_limits(before);
    return simulated.allocator->statistics().peak_active_bytes;
  };
  EXPECT_LT(peak_at_width(2) * 5, peak_at_width(100));
}

// B-29
TEST(EvalOrder, GoesDepthFirstPastTheWidth) {
  const EvalLimits before = set_eval_limits({.max_width = 2, .max_queued_tasks = 100});
  Array total(0.0F);
  std::vector<Array> ends;
  for (int i = 0; i < 6; ++i) {
    const Array first = exp(ones({8}) * Array(static_cast<float>(i)));
    ends.push_back(sum(sin(first)));
  }
  const Array all = stack(ends);
  eval({all});
  set_eval_limits(before);
  EXPECT_EQ(all.values<float>().size(), 6U);
  EXPECT_FLOAT_EQ(all.values<float>()[0], 8 * std::sin(1.0F));
}

// B-26
TEST(Eval, OfNothingOrOfWhatIsScheduledRunsNothing) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  eval({});
  const Array x = ones({4}) + Array(1.0F);
  async_eval({x});
  const auto made = simulated.port->counts().of(device::Call::enqueue);
  eval({x});
  EXPECT_EQ(simulated.port->counts().of(device::Call::enqueue), made);
  EXPECT_THAT(x.values<float>(), ElementsAre(2, 2, 2, 2));
}

// B-4, B-5
TEST(Eval, StatusGoesFromUnscheduledOverEvaluatedToAvailable) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array leaf({1.0F, 2.0F});
  EXPECT_EQ(leaf.status(), Status::available);
  const Array x = leaf + leaf;
  EXPECT_EQ(x.status(), Status::unscheduled);
  EXPECT_FALSE(x.is_available());
  async_eval({x});
  EXPECT_EQ(x.status(), Status::evaluated);
  EXPECT_FALSE(x.is_available()) << "nothing has waited, so nothing has run";
  simulated.machine->run_all();
  EXPECT_TRUE(x.is_available());
  EXPECT_EQ(x.status(), Status::available);
}

// B-28
TEST(Eval, TakesOutOfTheGraphWhatATransformHadEvaluated) {
  Array kept(0.0F);
  const auto loss = [&](const std::vector<Array>& x) {
    kept = exp(x[0]);
    eval({kept});
    return std::vector<Array>{sum(kept)};
  };
  (void)value_and_grad(loss, {ones({2})}, {0});
  EXPECT_EQ(kept.status(), Status::available);
  ASSERT_NE(kept.descriptor().call, nullptr) << "kept for the gradient";
  (void)plan_evaluation({kept + kept});
  EXPECT_EQ(kept.descriptor().call, nullptr);
}

// B-28, B-31, B-20
TEST(Eval, TakesWhatItHasRunOutOfTheGraph) {
  const Array x = ones({4}) + Array(1.0F);
  std::weak_ptr<Descriptor> upstream = x.descriptor().call->inputs[0].node();
  EXPECT_FALSE(upstream.expired());
  eval({x});
  EXPECT_EQ(x.descriptor().call, nullptr);
  EXPECT_TRUE(upstream.expired());
}

// B-30; async_eval of tracers in gradients_test.cpp
TEST(Eval, RefusesWhatHasNeitherValuesNorAnOperation) {
  const Array hole = Array::placeholder({2}, Dtype::float32);
  EXPECT_THAT([&] { eval({hole + hole}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("placeholder")));
  const Array lost = ones({2}) + Array(1.0F);
  lost.detach();
  EXPECT_THAT([&] { async_eval({lost + Array(1.0F)}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("whose operation failed or is gone")));
}

// B-38
TEST(Eval, AnOpThatThrowsLeavesEarlierArraysGoodAndLaterOnesUnscheduled) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array good = ones({4}) + Array(1.0F);
  const Array bad = throwing(good);
  const Array later = bad + good;
  EXPECT_THAT([&] { eval({later}); }, ThrowsMessage<InvalidArgument>(HasSubstr("no such op")));
  EXPECT_THAT(good.values<float>(), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(bad.status(), Status::unscheduled);
  EXPECT_EQ(later.status(), Status::unscheduled);
  const Array fresh = good + good;
  EXPECT_THAT(fresh.values<float>(), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(simulated.device.queued_tasks(), 0U);
}

// B-38: errors of what had been queued give way to the one that is thrown.
TEST(Eval, AnOpThatThrowsIsToldBeforeWorkThatFailed) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array bad = throwing(failing(ones({4})));
  EXPECT_THAT([&] { eval({bad}); }, ThrowsMessage<InvalidArgument>(HasSubstr("no such op")));
  synchronize(simulated.device);
  EXPECT_EQ(simulated.device.queued_tasks(), 0U);
}

// B-5, B-39
TEST(Eval, IsAvailableAndSynchronizeTellOnceWhyWorkFailed) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const auto is_told = ThrowsMessage<DeviceError>(HasSubstr("the kernel failed"));
  const Array bad = failing(ones({4}));
  async_eval({bad});
  EXPECT_FALSE(bad.is_available()) << "never waits";
  simulated.machine->run_all();
  EXPECT_THAT([&] { (void)bad.is_available(); }, is_told);
  synchronize(simulated.device);

  const Array worse = failing(ones({4}));
  async_eval({worse});
  EXPECT_THAT([&] { synchronize(simulated.device); }, is_told);
  EXPECT_EQ(worse.status(), Status::evaluated);
  EXPECT_THAT([&] { worse.wait(); }, ThrowsMessage<DeviceError>(HasSubstr("whose work failed")));
}

// B-39
TEST(Eval, WorkThatFailsIsToldOnceToWhoWaits) {
  for (const bool on_host : {true, false}) {
    Simulated simulated;
    const DeviceScope on(on_host ? Device::host() : simulated.device);
    const Array bad = failing(ones({4}));
    const Array later = bad + Array(1.0F);
    async_eval({later});
    EXPECT_THAT([&] { later.wait(); }, ThrowsMessage<DeviceError>(HasSubstr("the kernel failed")));
    // What was never made is not said to be there, nor read as if it were.
    EXPECT_EQ(later.status(), Status::evaluated);
    const auto is_refused = ThrowsMessage<DeviceError>(HasSubstr("whose work failed"));
    EXPECT_THAT([&] { later.wait(); }, is_refused);
    EXPECT_THAT([&] { (void)later.is_available(); }, is_refused);
    EXPECT_THAT([&] { (void)later.values<float>(); }, is_refused);
    EXPECT_THAT([&] { eval({reshape(later, {2, 2})}); }, is_refused);
    EXPECT_THAT([&] { eval({later * Array(2.0F)}); }, is_refused);
    EXPECT_THAT((ones({2}) + Array(1.0F)).values<float>(), ElementsAre(2, 2));
    synchronize(current_stream());
  }
}

// B-34, B-37
TEST(Eval, WaitsWhenMemoryExceedsTheLimitAndWhenTooMuchIsQueued) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const auto peak_of_chain = [&] {
    simulated.allocator->empty_cache();
    simulated.allocator->reset_peaks();
    std::vector<Array> ends;
    for (int i = 0; i < 40; ++i) {
      const Array big = full({1 << 16}, Array(static_cast<float>(i)));
      ends.push_back(sum(exp(big) + big));
      async_eval({ends.back()});
    }
    eval(ends);
    return simulated.allocator->statistics().peak_active_bytes;
  };
  const std::uint64_t free_peak = peak_of_chain();
  simulated.allocator->set_memory_limit(std::uint64_t{1} << 20);
  const std::uint64_t held_peak = peak_of_chain();
  EXPECT_LT(held_peak, free_peak / 4) << "a limit of four of the arrays";
  simulated.allocator->set_memory_limit(std::uint64_t{1} << 40);
  const EvalLimits before = set_eval_limits({.max_width = 20, .max_queued_tasks = 10});
  const std::uint64_t few_peak = peak_of_chain();
  set_eval_limits(before);
  EXPECT_LT(few_peak, free_peak / 2);
}

// B-40, and B-37: two streams and a tiny limit
TEST(Eval, OrdersStreamsAfterOneAnother) {
  for (const auto interleaving :
       {sim::Interleaving::newest_first, sim::Interleaving::oldest_first}) {
    Simulated simulated({.interleaving = interleaving});
    simulated.allocator->set_memory_limit(1024);
    const Stream first = new_stream(simulated.device);
    const Stream second = new_stream(simulated.device);
    const Array x = [&] {
      const StreamScope on(first);
      return full({1000}, Array(3.0F)) * Array(2.0F);
    }();
    const Array y = [&] {
      const StreamScope on(second);
      return x + Array(1.0F);
    }();
    const Array z = [&] {
      const StreamScope on(first);
      return y * x;
    }();
    async_eval({z});  // within one evaluation: fences
    const Array w = [&] {
      const StreamScope on(second);
      return z + x;  // across evaluations: the end of the first
    }();
    EXPECT_EQ(w.values<float>()[999], 48.0F);
    EXPECT_TRUE(simulated.machine->findings().empty());
  }
}

// B-34, B-37: with nothing queued it goes on over the limit, and no thread waits for itself.
TEST(Eval, TwoStreamsWithATinyLimitComeToAnEndOnWorkerThreads) {
  const auto allocator = std::make_shared<alloc::HostAllocator>(alloc::host_device());
  allocator->set_memory_limit(1024);
  const Device device(allocator);
  const Stream first = new_stream(device);
  const Stream second = new_stream(device);
  const DeviceScope on(device);
  Array x = full({1000}, Array(1.0F));
  for (int i = 0; i < 40; ++i) {
    const Array y = [&] {
      const StreamScope there(second);
      return x + Array(1.0F);
    }();
    const StreamScope here(first);
    x = y * Array(0.5F) + x * Array(0.5F);
    if (i % 3 == 0) async_eval({x});
  }
  eval({x});
  EXPECT_GT(allocator->active_bytes(), 1024U);
  EXPECT_FLOAT_EQ(x.values<float>()[999], 21.0F);
}

// B-41: streams are not bound to threads; one that was closed is refused.
TEST(Streams, AClosedOneCannotEvaluate) {
  Stream stream = new_stream();
  const Array x = [&] {
    const StreamScope on(stream);
    return ones({2}) + Array(1.0F);
  }();
  stream.close();
  EXPECT_TRUE(stream.is_closed());
  EXPECT_THAT([&] { eval({x}); }, ThrowsMessage<InvalidArgument>(HasSubstr("which was closed")));
  EXPECT_THAT([] { current_stream().close(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("default stream")));
}

}  // namespace
}  // namespace strandline::array
