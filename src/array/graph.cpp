// SPDX-License-Identifier: Apache-2.0
#include "strandline/array/graph.h"

#include <algorithm>
#include <ostream>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "strandline/array/descriptor.h"
#include "strandline/array/graph_lock.h"
#include "strandline/array/primitive.h"

namespace strandline::array {
namespace {

/// Every leaf and every call of a graph once, inputs before what uses them.
struct Walk {
  struct Step {
    Array array;                 ///< a leaf, or one output of a call
    std::shared_ptr<Call> call;  ///< null for leaves
    std::vector<Array> outputs;  ///< kept, so that ids stay theirs
  };
  std::vector<Step> steps;
  std::unordered_set<const void*> used;  ///< descriptors that something consumes

  explicit Walk(const std::vector<Array>& roots) {
    const GraphGuard guard;
    for (const Array& root : roots) visit(root);
  }

 private:
  static const void* key_of(const Array& array) {
    const Descriptor& node = array.descriptor();
    return node.call != nullptr ? static_cast<const void*>(node.call.get()) : &node;
  }

  void visit(const Array& root) STRANDLINE_REQUIRES(graph_lock()) {
    std::vector<std::pair<Array, std::size_t>> open;
    const auto enter = [&](const Array& array) {
      if (seen_.insert(key_of(array)).second) open.emplace_back(array, 0);
    };
    enter(root);
    while (!open.empty()) {
      auto& [array, next] = open.back();
      const std::shared_ptr<Call>& call = array.descriptor().call;
      if (call != nullptr && next < call->inputs.size()) {
        const Array input = call->inputs[next++];
        used.insert(&input.descriptor());
        enter(input);
        continue;
      }
      steps.push_back({array, call, outputs_of(array)});
      open.pop_back();
    }
  }

  std::unordered_set<const void*> seen_;
};

std::string described(NodeNamer& namer, const Array& array) {
  const std::string shape = shape_text(array.shape());
  return fmt::format("{} [{}, {}]", namer.name_of(array), shape, dtype_name(array.dtype()));
}

std::string listed(NodeNamer& namer, const std::vector<Array>& arrays) {
  std::string text;
  for (const Array& array : arrays) {
    text += (text.empty() ? "" : ", ") + described(namer, array);
  }
  return text;
}

// Within the quotes of Graphviz's language.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

void NodeNamer::set_name(const Array& array, std::string name) {
  names_.insert_or_assign(array.id(), std::move(name));
}

const std::string& NodeNamer::name_of(const Array& array) {
  if (const auto found = names_.find(array.id()); found != names_.end()) return found->second;
  std::string name;
  // A to Z, then AA: numbers of base 26 without a zero.
  for (std::size_t n = ++made_; n > 0; n = (n - 1) / 26) {
    name.insert(name.begin(), static_cast<char>('A' + (n - 1) % 26));
  }
  return names_.emplace(array.id(), std::move(name)).first->second;
}

void export_to_dot(std::ostream& to, NodeNamer namer, const std::vector<Array>& outputs) {
  const Walk walk(outputs);
  to << "digraph {\n";
  std::size_t number = 0;
  for (const auto& [array, call, made] : walk.steps) {
    if (call == nullptr) {
      to << "{ rank=source; " << quoted(namer.name_of(array)) << "; }\n";
      continue;
    }
    const std::size_t id = ++number;
    to << "{ " << id << " [label=" << quoted(std::string(call->primitive->name()))
       << ", shape=rectangle]; }\n";
    for (const Array& input : call->inputs) {
      to << quoted(namer.name_of(input)) << " -> " << id << '\n';
    }
    for (const Array& output : made) {
      const std::string name = quoted(namer.name_of(output));
      const bool is_sink = !walk.used.contains(&output.descriptor());
      to << "{ " << (is_sink ? "rank=sink; " : "") << name << "; }\n"
         << id << " -> " << name << '\n';
    }
  }
  to << "}";
}

void print_graph(std::ostream& to, NodeNamer namer, const std::vector<Array>& outputs) {
  const Walk walk(outputs);
  std::vector<Array> inputs;
  for (const Walk::Step& step : walk.steps) {
    if (step.call == nullptr) inputs.push_back(step.array);
  }
  to << "Inputs: " << listed(namer, inputs) << "\nOutputs: " << listed(namer, outputs) << '\n';
  for (const Walk::Step& step : walk.steps) {
    if (step.call == nullptr) continue;
    to << step.call->primitive->name() << ' ' << listed(namer, step.call->inputs) << " -> "
       << listed(namer, step.outputs) << '\n';
  }
}

}  // namespace strandline::array
