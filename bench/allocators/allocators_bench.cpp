// SPDX-License-Identifier: Apache-2.0
// Ours: allocators_bench host|unified [pairs BYTES COUNT]. With `pairs` it only runs so many cached
// pairs below `measured_loop`, for callgrind.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/unified_allocator.h"
#include "strandline/device/host.h"
#include "workloads.h"

namespace {

using strandline::alloc::Allocator;

class Ours {
 public:
  using Block = strandline::alloc::Buffer;

  explicit Ours(Allocator& allocator) : allocator_(allocator) {}
  Block malloc(std::size_t bytes) { return allocator_.malloc(bytes); }
  void free(Block block, std::size_t) { allocator_.free(block); }
  void* pointer(Block block) { return block.ptr(); }
  std::size_t usable(Block block) { return allocator_.size(block); }
  std::int64_t active() { return static_cast<std::int64_t>(allocator_.active_bytes()); }

 private:
  Allocator& allocator_;
};

}  // namespace

extern "C" [[gnu::noinline]] void measured_loop(Allocator& allocator, std::size_t bytes,
                                                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) allocator.free(allocator.malloc(bytes));
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 5) return 2;
  const std::unique_ptr<strandline::device::Device> device = strandline::device::make_host_device();
  std::unique_ptr<Allocator> allocator;
  if (std::strcmp(argv[1], "unified") == 0) {
    allocator = std::make_unique<strandline::alloc::UnifiedAllocator>(*device);
  } else {
    allocator = std::make_unique<strandline::alloc::HostAllocator>(*device);
  }
  if (argc == 5) {
    const std::size_t bytes = std::strtoull(argv[3], nullptr, 10);
    allocator->free(allocator->malloc(bytes));
    measured_loop(*allocator, bytes, std::strtoull(argv[4], nullptr, 10));
    return allocator->active_bytes() == 0 ? 0 : 1;
  }
  Ours ours(*allocator);
  const int status = bench::measure(ours);
  const auto counts = allocator->statistics();
  return counts.mallocs == counts.frees && counts.refused_frees == 0 ? status : 1;
}
