// SPDX-License-Identifier: Apache-2.0
// mimalloc knows no streams: what it answers is what a heap of the host costs.
#include <mimalloc.h>

#include "shapes.h"

namespace {

class Mimalloc {
 public:
  using Block = void*;

  Block malloc(std::size_t bytes, std::size_t) { return mi_malloc(bytes); }
  void free(Block block, std::size_t) { mi_free(block); }
  void* pointer(Block block) { return block; }
  std::int64_t active() { return -1; }
  std::uint64_t reserved() { return 0; }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::measure_segments([] { return std::make_unique<Mimalloc>(); }, argc - 1, argv + 1);
}
