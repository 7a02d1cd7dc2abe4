// SPDX-License-Identifier: Apache-2.0
// What the recorder learns of arrays: nodes, leaf and op scopes, holders through views and
// donation, the forward line of gradients. Stacks stand for lines here; Python's are looked at in
// tests/python/test_array.py.
#include <map>

#include "strandline/array/transforms.h"
#include "strandline/record/recorder.h"
#include "support.h"

namespace strandline::array {
namespace {

using record::recorder;

/// Gives each node the next number as its stack.
class NumberSource : public record::CaptureSource {
 public:
  std::string_view name() const noexcept override { return "numbers"; }
  bool can_gather() const noexcept override { return is_on; }
  TracebackId gather(record::TracebackTable& table, std::uint16_t source) noexcept override {
    const std::array frames = {record::RawFrame{.code = ++last, .offset = 0, .source = source}};
    return table.insert(record::fingerprint_of(frames, false), frames, false);
  }
  record::Frame resolve(const record::RawFrame& frame) const override {
    return {.file = "test", .function = std::to_string(frame.code), .line = 1};
  }
  static inline bool is_on = false;
  static inline std::uint64_t last = 0;
};

class ArrayRecord : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    record::register_capture_source(std::make_unique<NumberSource>());
  }
  void SetUp() override {
    NumberSource::is_on = true;
    recorder().start({.max_entries = 100'000});
    recorder().clear_history();
  }
  void TearDown() override {
    recorder().stop();
    recorder().clear_history(record::Recorder::ClearTables::yes);
    NumberSource::is_on = false;
  }

  static std::uint64_t number_of(TracebackId id) {
    const auto frames = recorder().tables().tracebacks.frames(id);
    return frames.empty() ? 0 : frames[0].code;
  }
  static std::string op_of(const record::Event& event) {
    return recorder().tables().ops.text(event.op);
  }
  std::vector<record::Event> events_of(const Array& array) const {
    std::vector<record::Event> found;
    for (const record::Event& event : recorder().cut().events) {
      const bool is_segment = event.action >= record::Action::segment_alloc &&
                              event.action <= record::Action::segment_unmap;
      if (event.address == buffer_address_of(array) && !is_segment) found.push_back(event);
    }
    return found;
  }

  Simulated simulated_;
  DeviceScope on_{simulated_.device};
};

TEST_F(ArrayRecord, TakesOneTracebackANodeWhenItIsMade) {
  const Array leaf({1.0F, 2.0F});
  const auto before = NumberSource::last;
  const Array y = leaf + leaf;
  EXPECT_EQ(NumberSource::last, before + 1);
  const std::vector<Array> parts = split(y, 2);
  EXPECT_EQ(NumberSource::last, before + 2) << "siblings are one node";
  eval({parts[0], parts[1]});
  EXPECT_EQ(NumberSource::last, before + 2) << "none in eval";
  const auto events = events_of(y);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(number_of(events[0].traceback), before + 1);
  EXPECT_EQ(op_of(events[0]), "Add");
}

TEST_F(ArrayRecord, ALeafHasItsOwnScopeAndLayout) {
  const Array leaf({1.0F, 2.0F, 3.0F});
  const auto events = events_of(leaf);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(op_of(events[0]), "Array");
  EXPECT_EQ(number_of(events[0].traceback), NumberSource::last);
  EXPECT_EQ(recorder().tables().layouts.layout(events[0].layout),
            (record::Layout{.shape = {3}, .dtype = Dtype::float32}));
}

// B-23
TEST_F(ArrayRecord, ADonatedBufferMovesToItsNewHolder) {
  Array x = full({5000}, Array(2.0F));
  const auto made = NumberSource::last;
  x = exp(x);
  eval({x});
  const auto events = events_of(x);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(record::begins_block(events[0].action));
  EXPECT_EQ(op_of(events[0]), "Full");
  EXPECT_EQ(number_of(events[0].traceback), made);
  EXPECT_EQ(events[1].action, record::Action::holder);
  EXPECT_EQ(op_of(events[1]), "Exp");
  EXPECT_EQ(number_of(events[1].traceback), made + 1);
}

TEST_F(ArrayRecord, AViewHoldsTheBlockOnlyOnceItsOwnerIsGone) {
  auto owner = std::make_unique<Array>(full({4096}, Array(1.0F)));
  eval({*owner});
  const Array view = slice(*owner, {100}, {200}, {1});
  eval({view});
  const auto holders = [&] {
    std::vector<record::Event> found;
    for (const auto& event : events_of(view)) {
      if (event.action == record::Action::holder) found.push_back(event);
    }
    return found;
  };
  EXPECT_TRUE(holders().empty());
  owner = nullptr;
  ASSERT_EQ(holders().size(), 1U);
  EXPECT_EQ(op_of(holders()[0]), "Slice");
  EXPECT_EQ(holders()[0].size, 400U);
  EXPECT_EQ(holders()[0].requested, 400U) << "the offset of the view";
}

TEST_F(ArrayRecord, BackwardNodesCarryTheLineOfTheirOperation) {
  std::uint64_t forward = 0;
  const auto loss = [&](const std::vector<Array>& x) {
    const Array y = exp(x[0] * x[0]);
    forward = NumberSource::last;
    return std::vector<Array>{sum(y)};
  };
  const Array x(std::vector<float>(3000, 0.5F).data(), {3000}, Dtype::float32);
  const auto [value, gradients] = value_and_grad(loss, {x}, {0});
  eval({gradients[0]});
  const auto& tracebacks = recorder().tables().tracebacks;
  std::map<std::uint64_t, int> seen;
  for (const record::Event& event : recorder().cut().events) {
    if (const TracebackId id = tracebacks.forward(event.traceback)) ++seen[number_of(id)];
  }
  EXPECT_GT(seen[forward], 0) << "exp";
  EXPECT_GT(seen[forward - 1], 0) << "the product";
  EXPECT_EQ(record::thread_state().forward, TracebackId{}) << "not beyond the transform";
}

TEST_F(ArrayRecord, ALabelAtConstructionWinsOverOneAtEval) {
  const LabelId made = recorder().tables().labels.intern("made");
  const LabelId run = recorder().tables().labels.intern("run");
  const auto build = [&] {
    const record::LabelScope scope(made);
    return full({1000}, Array(1.0F));
  };
  const Array x = build();
  const Array plain = full({1000}, Array(1.0F));
  {
    const record::LabelScope scope(run);
    eval({x, plain});
  }
  EXPECT_EQ(events_of(x)[0].label, made);
  EXPECT_EQ(events_of(plain)[0].label, run);
}

TEST_F(ArrayRecord, EveryByteOfAGraphIsAttributed) {
  const Array x(std::vector<float>(64 * 64, 0.01F).data(), {64, 64}, Dtype::float32);
  const auto loss = [](const std::vector<Array>& in) {
    const Array scores = softmax(matmul(in[0], transpose(in[0])), std::vector<int>{0});
    return std::vector<Array>{mean(logsumexp(astype(scores, Dtype::float16), std::vector<int>{1}))};
  };
  const auto [value, gradients] = value_and_grad(loss, {x}, {0});
  eval({value[0], gradients[0]});
  for (const record::Event& event : recorder().cut().events) {
    if (!record::begins_block(event.action)) continue;
    EXPECT_TRUE(event.traceback);
    EXPECT_TRUE(event.op);
  }
}

TEST_F(ArrayRecord, RecordingChangesNoValue) {
  const auto run = [] {
    const Array x = full({40, 40}, Array(0.03F)) + eye(40, 40);
    return (matmul(x, exp(x))).values<float>();
  };
  const auto on = run();
  recorder().stop();
  EXPECT_EQ(run(), on);
}

}  // namespace
}  // namespace strandline::array
