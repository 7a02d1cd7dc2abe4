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

/// One evaluation: runs a tape, and knows the streams it has touched.
class Evaluation {
 public:
  explicit Evaluation(Plan& plan) : plan_(plan) {}

  void run() {
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

  void run_call(const Array& array) {
    std::shared_ptr<Call> call = array.descriptor().call;
    const Stream stream = call->primitive->stream();
    std::vector<Array> outputs = outputs_of(array);
    const CompletionPtr end = end_of(stream.state());
    for (const Array& input : call->inputs) wait_for_input(input, stream);
    encode(*call, outputs, end);
    if (plan_.crossing.contains(call.get())) {
      auto fence = std::make_shared<Completion>(stream.state());
      fence->record();
      for (const Array& output : outputs) output.descriptor().completion = fence;
      fences_.push_back(std::move(fence));
    }
    if (!is_followed(array)) array.detach();
    call = nullptr;  // and with it what only this call needed
    stream.state()->device->press_back(*stream.state(),
                                       g_max_queued_tasks.load(std::memory_order_relaxed));
  }

  // Of another stream: this one waits for it, unless it is there.
  static void wait_for_input(const Array& input, const Stream& stream) {
    const Descriptor& node = input.descriptor();
    const CompletionPtr& point = node.completion;
    if (node.status != Status::evaluated || point == nullptr) return;
    if (point->stream == stream.state()) return;
    if (point->stream->device == stream.state()->device) {
      if (!point->is_done()) {
        point->stream->port().submit(point->stream->id);
        stream.state()->port().wait_event(stream.id(), point->event);
      }
    } else {
      point->wait();  // devices of different machines share no events
    }
  }

  static void encode(Call& call, std::vector<Array>& outputs, const CompletionPtr& end) {
    record::OpContext context;
    if (record::recording()) context = call_context(call, outputs);
    const record::OpScope scope(context);
    try {
      Encoder encoder(call.primitive->stream());
      encoder.set_name(call.primitive->name());
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
      node.status = Status::evaluated;
      node.completion = end;
    }
  }

  // After a failure: what was queued is waited for; its own errors give way to the one thrown.
  void settle() noexcept {
    for (const CompletionPtr& point : ends_) {
      try {
        point->record();
      } catch (...) {  // then the wait has to do
      }
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

void wait_for_all(const std::vector<Array>& outputs) {
  std::exception_ptr first;
  for (const Array& output : outputs) {
    try {
      output.wait();
    } catch (...) {
      if (first == nullptr) first = std::current_exception();
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace

void eval(const std::vector<Array>& outputs) {
  Plan plan = make_plan(outputs, Blocking::yes, max_width().load(std::memory_order_relaxed));
  Evaluation(plan).run();
  wait_for_all(outputs);
}

void async_eval(const std::vector<Array>& outputs) {
  Plan plan = make_plan(outputs, Blocking::no, max_width().load(std::memory_order_relaxed));
  Evaluation(plan).run();
}

EvalPlan plan_evaluation(const std::vector<Array>& outputs) {
  const Plan plan = make_plan(outputs, Blocking::yes, max_width().load(std::memory_order_relaxed));
  EvalPlan result;
  for (std::size_t i = plan.tape.size(); i-- > 0;) {
    const Array& array = plan.tape[i];
    result.steps.push_back({array, plan.consumers.at(plan_key(array))});
  }
  return result;
}

std::uint32_t consumers_of(const Array& array, const std::vector<Array>& outputs) {
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
