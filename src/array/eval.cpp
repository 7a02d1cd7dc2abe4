// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/eval.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "array/data.h"
#include "array/node_record.h"
#include "array/plan.h"
#include "array/waiting.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

std::uint32_t width_of_environment() {
  const char* text = std::getenv("MLX_BFS_MAX_WIDTH");
  const long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return value > 0 ? static_cast<std::uint32_t>(std::min(value, 1L << 20)) : 20;
}

std::atomic<std::uint32_t>& max_width() {
  static std::atomic<std::uint32_t> width{width_of_environment()};
  return width;
}
constinit std::atomic<std::uint32_t> g_max_queued_tasks{EvalLimits{}.max_queued_tasks};

using CompletionPtr = std::shared_ptr<Completion>;

/// One evaluation: runs a tape, and knows the streams it has touched. Wherever it waits, other
/// threads may evaluate parts of the tape meanwhile; it skips those.
class Evaluation {
 public:
  explicit Evaluation(Plan& plan) : plan_(plan) {}

  void run() STRANDLINE_REQUIRES(graph_lock()) {
    try {
      while (!plan_.tape.empty()) {
        const Array array = std::move(plan_.tape.back());
        plan_.tape.pop_back();
        run_call(array);
      }
      for (const CompletionPtr& point : ends_) {
        point->record();
        point->stream->port().submit(point->stream->id);
      }
    } catch (...) {
      settle();
      throw;
    }
  }

 private:
  const CompletionPtr& end_of(const std::shared_ptr<StreamState>& stream) {
    for (const CompletionPtr& point : ends_) {
      if (point->stream == stream) return point;
    }
    return ends_.emplace_back(std::make_shared<Completion>(stream));
  }

  // What makes the array, ready to be encoded. Null when there is nothing left to do.
  static std::shared_ptr<Call> ready_call(const Array& array) STRANDLINE_REQUIRES(graph_lock()) {
    const Descriptor& node = array.descriptor();
    while (array.status() == Status::unscheduled) {
      check_can_run(node, "eval");
      std::shared_ptr<Call> call = node.call;
      if (call->encoder == std::this_thread::get_id()) {
        throw InvalidArgument(error_message(
            "eval", "array", "an output of " + std::string(call->primitive->name()) + " within it",
            "an operation that does not evaluate what it makes"));
      }
      if (call->encoder != std::thread::id{}) {
        graph_lock().wait_for_change();
      } else if (!wait_for_inputs(*call)) {
        return call;
      }
    }
    return nullptr;
  }

  void run_call(const Array& array) STRANDLINE_REQUIRES(graph_lock()) {
    std::shared_ptr<Call> call = ready_call(array);
    if (call == nullptr) return;
    const Stream stream = call->primitive->stream();
    std::vector<Array> outputs = outputs_of_unlocked(array);
    const CompletionPtr end = end_of(stream.state());
    encode(call, outputs, end);
    if (plan_.crossing.contains(call.get())) {
      auto fence = std::make_shared<Completion>(stream.state());
      fence->record();
      for (const Array& output : outputs) output.descriptor().completion = fence;
      fences_.push_back(std::move(fence));
    }
    if (!is_followed(array)) take_call(array);
    call = nullptr;  // and with it what only this call needed
    stream.state()->device->press_back(*stream.state(),
                                       g_max_queued_tasks.load(std::memory_order_relaxed));
  }

  // Those of other streams: this one waits for them, unless they are there. Returns whether this
  // thread has waited instead, and let go of the graph.
  static bool wait_for_inputs(const Call& call) STRANDLINE_REQUIRES(graph_lock()) {
    const StreamState& stream = *call.primitive->stream().state();
    for (const Array& input : call.inputs) {
      const CompletionPtr point = input.descriptor().completion;
      if (input.status() != Status::evaluated || point == nullptr) continue;
      if (point->stream.get() == &stream) continue;
      if (point->stream->device->port != stream.device->port) {
        input.wait();  // devices of different machines share no events
        return true;
      }
      point->ensure_recorded();
      if (point->is_done()) continue;
      point->stream->port().submit(point->stream->id);
      stream.port().wait_event(stream.id, point->event);
    }
    return false;
  }

  /// While it lives, other threads leave the call alone, also when its primitive lets go of the
  /// graph.
  class Encoding {
   public:
    explicit Encoding(Call& call) STRANDLINE_REQUIRES(graph_lock()) : call_(call) {
      call_.encoder = std::this_thread::get_id();
    }
    ~Encoding() {
      graph_lock().assert_held();
      call_.encoder = {};
      graph_lock().note_change();
    }
    Encoding(const Encoding&) = delete;
    Encoding& operator=(const Encoding&) = delete;

   private:
    Call& call_;
  };

  static void encode(const std::shared_ptr<Call>& shared, std::vector<Array>& outputs,
                     const CompletionPtr& end) STRANDLINE_REQUIRES(graph_lock()) {
    Call& call = *shared;
    const Encoding encoding(call);
    record::OpContext context;
    if (record::recording()) context = call_context(call, outputs);
    const record::OpScope scope(context);
    try {
      Encoder encoder(call.primitive->stream());
      encoder.set_name(call.primitive->name());
      // Its outputs and this evaluation have the call; a transform may as well, and its inputs
      // then.
      if (static_cast<std::size_t>(shared.use_count()) > outputs.size() + 1) {
        encoder.forbid_donation();
      }
      call.primitive->eval(call.inputs, outputs, encoder);
      for (const Array& output : outputs) {
        if (output.descriptor().data != nullptr) continue;
        throw InternalError(error_message("eval",
                                          "output of " + std::string(call.primitive->name()),
                                          "no memory", "memory from its encoder"));
      }
    } catch (...) {
      for (const Array& output : outputs) reset_data(output);
      throw;
    }
    for (const Array& output : outputs) {
      Descriptor& node = output.descriptor();
      node.completion = end;
      node.status.store(Status::evaluated, std::memory_order_release);
    }
  }

  // After a failure: what was queued is waited for; its own errors give way to the one thrown.
  void settle() noexcept STRANDLINE_REQUIRES(graph_lock()) {
    for (const CompletionPtr& point : ends_) {
      try {
        point->record();
      } catch (...) {  // then the wait has to do
      }
      const BlockingScope blocking;
      try {
        point->stream->port().wait(point->stream->id);
      } catch (...) {  // said by the error that is thrown
      }
    }
  }

  Plan& plan_;
  std::vector<CompletionPtr> ends_;
  std::vector<CompletionPtr> fences_;
};

}  // namespace

void eval(const std::vector<Array>& outputs) {
  const GraphGuard guard;
  Plan plan = make_plan(outputs, Blocking::yes, max_width().load(std::memory_order_relaxed));
  Evaluation(plan).run();
  wait_for_all(outputs);
}

void async_eval(const std::vector<Array>& outputs) {
  const GraphGuard guard;
  Plan plan = make_plan(outputs, Blocking::no, max_width().load(std::memory_order_relaxed));
  Evaluation(plan).run();
}

EvalPlan plan_evaluation(const std::vector<Array>& outputs) {
  const GraphGuard guard;
  const Plan plan = make_plan(outputs, Blocking::yes, max_width().load(std::memory_order_relaxed));
  EvalPlan result;
  for (std::size_t i = plan.tape.size(); i-- > 0;) {
    const Array& array = plan.tape[i];
    result.steps.push_back(
        {array, array.descriptor().call->primitive->name(), plan.consumers.at(plan_key(array))});
  }
  return result;
}

std::uint32_t consumers_of(const Array& array, const std::vector<Array>& outputs) {
  const GraphGuard guard;
  const Plan plan = make_plan(outputs, Blocking::yes, max_width().load(std::memory_order_relaxed));
  const auto found = plan.consumers.find(plan_key(array));
  return found == plan.consumers.end() ? 0 : found->second;
}

EvalLimits eval_limits() noexcept {
  return {.max_width = max_width().load(), .max_queued_tasks = g_max_queued_tasks.load()};
}

EvalLimits set_eval_limits(const EvalLimits& limits) {
  if (limits.max_width == 0 || limits.max_queued_tasks == 0) {
    throw InvalidArgument(error_message("set_eval_limits",
                                        limits.max_width == 0 ? "max_width" : "max_queued_tasks",
                                        "0", "at least 1"));
  }
  const EvalLimits before = eval_limits();
  max_width().store(limits.max_width);
  g_max_queued_tasks.store(limits.max_queued_tasks);
  return before;
}

}  // namespace strandline::array
