// SPDX-License-Identifier: Apache-2.0
// B-VI of the behaviours of lazy arrays: graphs as text.
#include "strandline/array/graph.h"

#include <sstream>

#include "support.h"

namespace strandline::array {
namespace {

// B-45, B-46
TEST(ExportToDot, WritesSourcesOperationsAndSinks) {
  const Array a({1.0F});
  const Array b = a + a;
  std::ostringstream text;
  export_to_dot(text, {}, {exp(b)});
  EXPECT_EQ(text.str(),
            "digraph {\n"
            "{ rank=source; \"A\"; }\n"
            "{ 1 [label=\"Add\", shape=rectangle]; }\n"
            "\"A\" -> 1\n"
            "\"A\" -> 1\n"
            "{ \"B\"; }\n"
            "1 -> \"B\"\n"
            "{ 2 [label=\"Exp\", shape=rectangle]; }\n"
            "\"B\" -> 2\n"
            "{ rank=sink; \"C\"; }\n"
            "2 -> \"C\"\n"
            "}");
}

TEST(ExportToDot, HasEachOperationOnceAndShowsAllItsOutputs) {
  const Array x({1.0F, 2.0F});
  const std::vector<Array> parts = split(x, 2);
  NodeNamer namer;
  namer.set_name(x, "say \"x\"");
  std::ostringstream text;
  export_to_dot(text, namer, {parts[0], parts[1]});
  EXPECT_EQ(text.str(),
            "digraph {\n"
            "{ rank=source; \"say \\\"x\\\"\"; }\n"
            "{ 1 [label=\"Split\", shape=rectangle]; }\n"
            "\"say \\\"x\\\"\" -> 1\n"
            "{ rank=sink; \"A\"; }\n"
            "1 -> \"A\"\n"
            "{ rank=sink; \"B\"; }\n"
            "1 -> \"B\"\n"
            "}");
}

TEST(ExportToDot, ShowsAnEvaluatedArrayAsASource) {
  const Array x = Array({1.0F}) + Array(2.0F);
  eval({x});
  std::ostringstream text;
  export_to_dot(text, {}, {x});
  EXPECT_EQ(text.str(), "digraph {\n{ rank=source; \"A\"; }\n}");
}

TEST(NodeNamer, GoesFromZToAa) {
  NodeNamer namer;
  std::vector<Array> arrays;
  for (int i = 0; i < 28; ++i) arrays.emplace_back(i);
  for (const Array& array : arrays) (void)namer.name_of(array);
  EXPECT_EQ(namer.name_of(arrays[25]), "Z");
  EXPECT_EQ(namer.name_of(arrays[26]), "AA");
  EXPECT_EQ(namer.name_of(arrays[27]), "AB");
  EXPECT_EQ(namer.name_of(arrays[0]), "A");
}

// B-47
TEST(PrintGraph, NamesInputsOutputsAndEachOperation) {
  const Array a({1.0F, 2.0F});
  std::ostringstream text;
  print_graph(text, {}, {sum(a + a)});
  EXPECT_EQ(text.str(),
            "Inputs: A [(2,), float32]\n"
            "Outputs: B [(), float32]\n"
            "Add A [(2,), float32], A [(2,), float32] -> C [(2,), float32]\n"
            "Sum C [(2,), float32] -> B [(), float32]\n");
}

}  // namespace
}  // namespace strandline::array
