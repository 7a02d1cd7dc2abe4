// SPDX-License-Identifier: Apache-2.0
// Graphs as text, for people and for Graphviz.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "strandline/array/array.h"
#include "strandline/core/export.h"

namespace strandline::array {

/// Names of arrays: those given, then A, B, … Z, AA, … in the order they are asked for.
class STRANDLINE_API NodeNamer {
 public:
  void set_name(const Array& array, std::string name);
  const std::string& name_of(const Array& array);

 private:
  std::unordered_map<std::uintptr_t, std::string> names_;
  std::size_t made_ = 0;
};

/// The graph that makes `outputs`, as far as it has not been evaluated, in Graphviz's language.
STRANDLINE_API void export_to_dot(std::ostream& to, NodeNamer namer,
                                  const std::vector<Array>& outputs);
/// The same as lines: "Add A [(4,), float32], B [(4,), float32] -> C [(4,), float32]".
STRANDLINE_API void print_graph(std::ostream& to, NodeNamer namer,
                                const std::vector<Array>& outputs);

}  // namespace strandline::array
