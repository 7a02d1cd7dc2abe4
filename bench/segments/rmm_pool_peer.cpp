// SPDX-License-Identifier: Apache-2.0
// RMM's pool over host memory: its CUDA runtime is ../allocators/fakes/cuda_runtime.cpp, so that
// what is timed is the pool's own work. Streams are real numbers to it: it keeps a free list each
// and lets one take from another.
#include <rmm/cuda_stream_view.hpp>
#include <rmm/mr/device/cuda_memory_resource.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>

#include "shapes.h"

namespace {

class RmmPool {
 public:
  struct Block {
    void* memory = nullptr;
    std::size_t stream = 0;
  };

  Block malloc(std::size_t bytes, std::size_t stream) {
    return {pool_.allocate_async(bytes, view(stream)), stream};
  }
  void free(Block block, std::size_t bytes) {
    pool_.deallocate_async(block.memory, bytes, view(block.stream));
  }
  void* pointer(Block block) { return block.memory; }
  std::int64_t active() { return -1; }
  std::uint64_t reserved() { return pool_.pool_size(); }

 private:
  // Stream 0 is the default one; the fakes never look at the others.
  static rmm::cuda_stream_view view(std::size_t stream) {
    return rmm::cuda_stream_view(reinterpret_cast<cudaStream_t>(stream << 8));
  }

  rmm::mr::cuda_memory_resource upstream_;
  rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource> pool_{&upstream_,
                                                                     std::size_t{256} << 20};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::measure_segments([] { return std::make_unique<RmmPool>(); }, argc - 1, argv + 1);
}
