// SPDX-License-Identifier: Apache-2.0
// An allocator in twenty lines, the same under every one of them:
//   allocate host|unified|segment [sim]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "strandline/alloc/host_allocator.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/alloc/unified_allocator.h"
#include "strandline/device/host.h"
#include "strandline/device/sim/machine.h"

namespace alloc = strandline::alloc;

static void tour(alloc::Allocator& allocator) {
  // A mebibyte: written by the host, measured, given back.
  const alloc::Buffer buffer = allocator.malloc(1 << 20);
  std::memset(buffer.raw_ptr(), 42, allocator.size(buffer));
  std::printf("%s: %llu bytes, %llu active\n", allocator.name().data(),
              static_cast<unsigned long long>(allocator.size(buffer)),
              static_cast<unsigned long long>(allocator.active_bytes()));
  allocator.free(buffer);

  // Memory of our own, for the device to use as it is.
  void* const ours = std::aligned_alloc(4096, 8192);
  const alloc::Buffer wrapped = allocator.make_buffer(ours, 8192);
  std::printf("wrapped: %llu bytes, %llu active, %llu kept for reuse\n",
              static_cast<unsigned long long>(allocator.size(wrapped)),
              static_cast<unsigned long long>(allocator.active_bytes()),
              static_cast<unsigned long long>(allocator.statistics().cached_bytes));
  allocator.release(wrapped);
  std::free(ours);
}

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "host";
  const bool is_simulated = argc > 2 && std::string_view(argv[2]) == "sim";
  const auto device =
      is_simulated ? strandline::sim::make_device() : strandline::device::make_host_device();
  if (kind == "host") {
    alloc::HostAllocator allocator(*device);
    tour(allocator);
  } else if (kind == "unified") {
    alloc::UnifiedAllocator allocator(*device);
    tour(allocator);
  } else if (kind == "segment") {
    alloc::SegmentAllocator allocator(*device);
    tour(allocator);
  } else {
    std::fprintf(stderr, "usage: allocate host|unified|segment [sim]\n");
    return 2;
  }
  return 0;
}
