// SPDX-License-Identifier: Apache-2.0
// The CPU allocator of the installed MLX wheel, by its C++ interface.
#include <mlx/allocator.h>
#include <mlx/memory.h>

#include "workloads.h"

namespace {

class Mlx {
 public:
  using Block = void*;  // what mlx::core::allocator::Buffer holds

  Block malloc(std::size_t bytes) { return allocator_.malloc(bytes).ptr(); }
  void free(Block block, std::size_t) { allocator_.free(buffer(block)); }
  void* pointer(Block block) { return buffer(block).raw_ptr(); }
  std::size_t usable(Block block) { return allocator_.size(buffer(block)); }
  std::int64_t active() { return static_cast<std::int64_t>(mlx::core::get_active_memory()); }

 private:
  static mlx::core::allocator::Buffer buffer(Block block) {
    return mlx::core::allocator::Buffer(block);
  }
  mlx::core::allocator::Allocator& allocator_ = mlx::core::allocator::allocator();
};

}  // namespace

int main() {
  Mlx mlx;
  return bench::measure(mlx);
}
