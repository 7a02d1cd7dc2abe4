// SPDX-License-Identifier: Apache-2.0
// RMM's pool over host memory: its CUDA runtime is fakes/cuda_runtime.cpp, so that what is timed is
// the pool's own work.
#include <rmm/mr/device/cuda_memory_resource.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>

#include "workloads.h"

namespace {

class RmmPool {
 public:
  using Block = void*;

  Block malloc(std::size_t bytes) { return pool_.allocate(bytes); }
  void free(Block block, std::size_t bytes) { pool_.deallocate(block, bytes); }
  void* pointer(Block block) { return block; }
  std::size_t usable(Block) { return 0; }
  std::int64_t active() { return -1; }

 private:
  rmm::mr::cuda_memory_resource upstream_;
  rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource> pool_{&upstream_,
                                                                     std::size_t{4} << 30};
};

}  // namespace

int main() {
  RmmPool pool;
  return bench::measure(pool);
}
