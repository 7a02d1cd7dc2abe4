// SPDX-License-Identifier: Apache-2.0
// A malloc of C: the system's, or mimalloc with -DUSE_MIMALLOC.
#include "workloads.h"

#if defined(USE_MIMALLOC)
#include <mimalloc.h>
#else
#include <cstdlib>

#include <malloc.h>
#endif

namespace {

class Malloc {
 public:
  using Block = void*;
#if defined(USE_MIMALLOC)
  Block malloc(std::size_t bytes) {
    return mi_malloc(bytes);
  }
  void free(Block block, std::size_t) {
    mi_free(block);
  }
  std::size_t usable(Block block) {
    return mi_usable_size(block);
  }
#else
  Block malloc(std::size_t bytes) {
    return std::malloc(bytes);
  }
  void free(Block block, std::size_t) {
    std::free(block);
  }
  std::size_t usable(Block block) {
    return malloc_usable_size(block);
  }
#endif
  void* pointer(Block block) {
    return block;
  }
  std::int64_t active() {
    return -1;
  }
};

}  // namespace

int main() {
  Malloc malloc;
  return bench::measure(malloc);
}
