// SPDX-License-Identifier: Apache-2.0
// Topic: evaluation, gradients, and graphs as text.

#include <sstream>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array_topics.h"
#include "array_values.h"
#include "bindings.h"
#include "foreign_memory.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/eval.h"
#include "strandline/array/graph.h"
#include "strandline/array/graph_lock.h"
#include "strandline/array/primitive.h"
#include "strandline/array/transforms.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;
using Arrays = std::vector<Array>;

std::pair<Arrays, Arrays> value_and_grad(nb::object function, const Arrays& inputs,
                                         const std::vector<std::size_t>& arguments) {
  const auto call = [&](const Arrays& given) {
    return held_at_exit([&] { return nb::cast<Arrays>(function(nb::cast(given))); });
  };
  return array::value_and_grad(call, inputs, arguments);
}

std::string graph_text(const Arrays& outputs,
                       const std::vector<std::pair<std::string, Array>>& names, bool as_dot) {
  array::NodeNamer namer;
  for (const auto& [name, named] : names) namer.set_name(named, name);
  std::ostringstream text;
  as_dot ? array::export_to_dot(text, namer, outputs) : array::print_graph(text, namer, outputs);
  return text.str();
}

// [(operation, array, consumers), …] in the order they would run.
nb::list plan(const Arrays& outputs) {
  nb::list steps;
  for (const auto& step : array::plan_evaluation(outputs).steps) {
    steps.append(nb::make_tuple(text_object(std::string(step.operation)), nb::cast(step.array),
                                step.consumers));
  }
  return steps;
}

// False when the recorder knows nothing of it.
bool label(const Array& a, const std::string& text) {
  if (!record::recording()) return false;
  record::Recorder& recorder = record::recorder();
  const LabelId label = recorder.tables().labels.intern(text);
  const array::GraphGuard guard;
  array::Descriptor& node = a.descriptor();
  node.record.label = label;
  if (node.call != nullptr) node.call->record.label = label;
  if (node.is_bound) return recorder.annotate_array({a.id()}, label);
  return node.call != nullptr;
}

}  // namespace

void init_array_graph(nb::module_& m) {
  m.def(
      "eval",
      [](const nb::args& trees) {
        const Arrays arrays = arrays_in("eval", trees);
        drop_released_owners();
        const ReleasedForWait released;
        array::eval(arrays);
      },
      nb::arg("trees"), nb::sig("def eval(*trees: typing.Any) -> None"),
      "Queues what the arrays in these lists, tuples and dictionaries need and waits for their\n"
      "values. DeviceError when work failed, ValueError inside of a function that is being\n"
      "differentiated, TypeError for what is no tree of arrays.");
  m.def(
      "async_eval",
      [](const nb::args& trees) {
        const Arrays arrays = arrays_in("async_eval", trees);
        drop_released_owners();
        const ReleasedForWait released;
        array::async_eval(arrays);
      },
      nb::arg("trees"), nb::sig("def async_eval(*trees: typing.Any) -> None"),
      "Queues what the arrays in these trees need; returns before it has run.");
  m.def("value_and_grad", &value_and_grad, nb::arg("function"), nb::arg("inputs"),
        nb::arg("arguments"),
        nb::sig("def value_and_grad("
                "function: collections.abc.Callable[[list[Array]], list[Array]],"
                " inputs: collections.abc.Sequence[Array],"
                " arguments: collections.abc.Sequence[int]) -> tuple[list[Array], list[Array]]"),
        "Results, and the gradients of the first with respect to the inputs of these numbers.");
  m.def("graph_text", &graph_text, nb::arg("outputs"), nb::arg("names"), nb::arg("as_dot"),
        "The graph that makes the outputs, for Graphviz or for people.");
  m.def("plan", &plan, nb::arg("outputs"),
        nb::sig("def plan(outputs: collections.abc.Sequence[Array])"
                " -> list[tuple[str, Array, int]]"),
        "What eval would run, in order: operation, array, consumers.");
  m.def("consumers", &array::consumers_of, nb::arg("a"), nb::arg("outputs"),
        "Uses of an array, or its siblings, in the graph of the outputs.");
  m.def("label", &label, nb::arg("a"), nb::arg("text"),
        "Labels its node and its block; False when the recorder knows neither.");
  m.def(
      "eval_limits",
      [] {
        const array::EvalLimits now = array::eval_limits();
        return std::pair(now.max_width, now.max_queued_tasks);
      },
      "(width of the tape, tasks queued before the caller waits)");
  m.def(
      "set_eval_limits",
      [](std::uint32_t max_width, std::uint32_t max_queued_tasks) {
        const array::EvalLimits before =
            array::set_eval_limits({.max_width = max_width, .max_queued_tasks = max_queued_tasks});
        return std::pair(before.max_width, before.max_queued_tasks);
      },
      nb::arg("max_width"), nb::arg("max_queued_tasks"), "The limits before.");
}

}  // namespace strandline::python
