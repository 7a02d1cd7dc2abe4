// SPDX-License-Identifier: Apache-2.0
// Ownership of one buffer.
#include "strandline/alloc/device_buffer.h"

#include "strandline/alloc/default_allocator.h"

namespace strandline::alloc {

DeviceBuffer::DeviceBuffer(std::uint64_t bytes, const MallocOptions& options)
    : DeviceBuffer(default_allocator(), bytes, options) {}

DeviceBuffer DeviceBuffer::wrap(Allocator& allocator, void* memory, std::uint64_t bytes) {
  DeviceBuffer wrapped;
  wrapped.buffer_ = allocator.make_buffer(memory, bytes);
  wrapped.bytes_ = bytes;
  wrapped.is_wrapped_ = true;
  return wrapped;
}

void DeviceBuffer::reset() noexcept {
  const bool is_wrapped = is_wrapped_;
  const Buffer buffer = take();
  if (!buffer) return;
  if (is_wrapped) {
    (void)buffer.allocator()->release(buffer);
  } else {
    buffer.allocator()->free(buffer);
  }
}

Buffer DeviceBuffer::take() noexcept {
  bytes_ = 0;
  is_wrapped_ = false;
  return std::exchange(buffer_, Buffer{});
}

}  // namespace strandline::alloc
