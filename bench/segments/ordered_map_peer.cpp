// SPDX-License-Identifier: Apache-2.0
#include "ordered_map.h"
#include "shapes.h"

int main(int argc, char** argv) {
  return bench::measure_segments([] { return std::make_unique<bench::OrderedMap>(); }, argc - 1,
                                 argv + 1);
}
