// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/transforms.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "array/device_state.h"
#include "array/plan.h"
#include "array/tracing.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/graph_lock.h"
#include "strandline/array/operations.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"
#include "strandline/record/recorder.h"

namespace strandline::array {
namespace {

using Cotangents = std::unordered_map<const Descriptor*, Array>;

using Ends = std::unordered_set<const Descriptor*>;

/// A call as it was when the function had returned: other threads may take it from its arrays.
struct FollowedCall {
  std::shared_ptr<Call> call;
  std::vector<Array> outputs;
};

// Each followed call, inputs before what uses them, down to the ends.
std::vector<FollowedCall> followed_calls(const std::vector<Array>& outputs, const Ends& ends) {
  const GraphGuard guard;
  std::vector<FollowedCall> order;
  std::unordered_set<const Call*> seen;
  std::vector<std::pair<Array, std::size_t>> open;
  const auto enter = [&](const Array& array) {
    const Descriptor& node = array.descriptor();
    if (node.is_tracer && node.call != nullptr && !ends.contains(&node) &&
        seen.insert(node.call.get()).second) {
      open.emplace_back(array, 0);
    }
  };
  for (const Array& output : outputs) {
    enter(output);
    while (!open.empty()) {
      auto& [array, next] = open.back();
      const std::vector<Array>& inputs = array.descriptor().call->inputs;
      if (next < inputs.size()) {
        const Array input = inputs[next++];
        enter(input);
        continue;
      }
      const std::shared_ptr<Call>& call = array.descriptor().call;
      order.push_back({call, outputs_of_unlocked(array)});
      open.pop_back();
    }
  }
  return order;
}

// Where what is made beside an array runs: as everything does now, if that is its device.
Stream stream_beside(const Array& array) {
  Stream current = current_stream();
  const device::Device* const port = array.descriptor().port;
  if (port == nullptr || port == &current.device().port()) return current;
  return device_of(array).default_stream();
}

void accumulate(Cotangents& cotangents, const Array& of, const Array& gradient) {
  const auto found = cotangents.find(&of.descriptor());
  if (found == cotangents.end()) {
    cotangents.emplace(&of.descriptor(), gradient);
  } else {
    const StreamScope beside(stream_beside(gradient));
    found->second = add(found->second, gradient);
  }
}

// Nodes made from here on belong to the gradient of this operation, until the next takes over or
// the transform ends.
void belong_to(const Call& call) {
  if (!record::recording() || !call.record.traceback) return;
  record::thread_state().forward =
      record::recorder().tables().tracebacks.calling(call.record.traceback);
}

void go_back_through(const FollowedCall& followed, Cotangents& cotangents) {
  const auto& [call, outputs] = followed;
  const std::vector<Array>& inputs = call->inputs;
  const bool is_used = std::any_of(outputs.begin(), outputs.end(), [&](const Array& output) {
    return cotangents.contains(&output.descriptor());
  });
  if (!is_used) return;
  belong_to(*call);
  const StreamScope scope(call->primitive->stream());
  std::vector<Array> given;
  for (const Array& output : outputs) {
    const auto found = cotangents.find(&output.descriptor());
    if (found == cotangents.end()) {
      given.push_back(zeros_like(output));
    } else {
      given.push_back(found->second);
      cotangents.erase(found);
    }
  }
  std::vector<std::size_t> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].descriptor().is_tracer) arguments.push_back(i);
  }
  const std::vector<Array> gradients = call->primitive->vjp(inputs, given, arguments, outputs);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    accumulate(cotangents, inputs[arguments[i]], gradients[i]);
  }
}

// Inputs that are followed inside of the function.
std::vector<Array> followed(const std::vector<Array>& inputs,
                            const std::vector<std::size_t>& arguments) {
  std::vector<Array> result = inputs;
  for (const std::size_t i : arguments) {
    const StreamScope beside(stream_beside(inputs[i]));
    result[i] = copy(inputs[i]);
    result[i].descriptor().is_tracer = true;
  }
  return result;
}

using Seeds = std::function<std::vector<Array>(const std::vector<Array>& results)>;

std::pair<std::vector<Array>, std::vector<Array>> transform(
    const ArraysFunction& function, const std::vector<Array>& inputs,
    const std::vector<std::size_t>& arguments, const Seeds& seeds) {
  const TracingScope tracing;
  // What was in force comes back at the end.
  const record::ForwardScope scope({});
  const std::vector<Array> primals = followed(inputs, arguments);
  std::vector<Array> results = function(primals);
  const std::vector<Array> given = seeds(results);
  Cotangents cotangents;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (results[i].descriptor().is_tracer) accumulate(cotangents, results[i], given[i]);
  }
  Ends ends;
  for (const std::size_t i : arguments) ends.insert(&primals[i].descriptor());
  const std::vector<FollowedCall> calls = followed_calls(results, ends);
  for (std::size_t i = calls.size(); i-- > 0;) go_back_through(calls[i], cotangents);
  std::vector<Array> gradients;
  for (const std::size_t i : arguments) {
    const auto found = cotangents.find(&primals[i].descriptor());
    const StreamScope beside(stream_beside(primals[i]));
    gradients.push_back(found == cotangents.end() ? zeros_like(primals[i]) : found->second);
  }
  return {std::move(results), std::move(gradients)};
}

}  // namespace

std::pair<std::vector<Array>, std::vector<Array>> vjp(const ArraysFunction& function,
                                                      const std::vector<Array>& primals,
                                                      const std::vector<Array>& cotangents) {
  std::vector<std::size_t> arguments;
  for (std::size_t i = 0; i < primals.size(); ++i) arguments.push_back(i);
  return transform(function, primals, arguments, [&](const std::vector<Array>& results) {
    if (results.size() != cotangents.size()) {
      throw InvalidArgument(error_message("vjp", "cotangents",
                                          fmt::format("{} of them", cotangents.size()),
                                          fmt::format("{}: one for each result", results.size())));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (cotangents[i].shape() == results[i].shape()) continue;
      throw InvalidArgument(
          error_message("vjp", "cotangent", shape_text(cotangents[i].shape()),
                        "the shape of its result, " + shape_text(results[i].shape())));
    }
    return cotangents;
  });
}

std::pair<std::vector<Array>, std::vector<Array>> value_and_grad(
    const ArraysFunction& function, const std::vector<Array>& inputs,
    const std::vector<std::size_t>& arguments) {
  constexpr const char* kFunction = "value_and_grad";
  for (const std::size_t i : arguments) {
    if (i >= inputs.size()) {
      throw OutOfRange(error_message(kFunction, "argument", std::to_string(i),
                                     fmt::format("below {}", inputs.size())));
    }
    if (!is_floating(inputs[i].dtype())) {
      throw InvalidArgument(error_message(kFunction, fmt::format("argument {}", i),
                                          dtype_name(inputs[i].dtype()), "an array of floats"));
    }
  }
  return transform(function, inputs, arguments, [&](const std::vector<Array>& results) {
    if (results.empty() || results[0].size() != 1 || results[0].ndim() != 0 ||
        !is_floating(results[0].dtype())) {
      throw InvalidArgument(error_message(
          kFunction, "result",
          results.empty() ? std::string("none")
                          : fmt::format("shape {} of {}", shape_text(results[0].shape()),
                                        dtype_name(results[0].dtype())),
          "a scalar float first"));
    }
    const StreamScope beside(stream_beside(results[0]));
    return std::vector<Array>{ones_like(results[0])};
  });
}

}  // namespace strandline::array
